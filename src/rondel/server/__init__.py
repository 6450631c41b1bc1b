"""HTTP, live events and everything else by which programs and people reach sessions."""
