import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The built pages are part of the Python package; git does not keep them.
export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/rondel/server/pages",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    reportCompressedSize: true,
    chunkSizeWarningLimit: 700,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8484", "/openapi.json": "http://127.0.0.1:8484" } },
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"] },
});
