"""The providers that need a network. Their names are known; the bridge to them comes later."""

from __future__ import annotations

REAL_PROVIDERS = (
    *("anthropic", "azure", "bedrock", "cohere", "deepseek", "fireworks", "gemini", "google"),
    *("grok", "groq", "huggingface", "mistral", "moonshot", "ollama", "openai", "openrouter"),
    *("qwen", "together", "vertex", "xai", "zhipu"),
)
