"""The providers that need a network: dialect, address and key of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ApiDialect:
    """A way to speak to models, and what is particular about it and the library's client for it."""

    name: Literal["openai", "anthropic", "google", "bedrock"]
    lacks: frozenset[str] = frozenset()
    """The parameters that it does not have."""
    is_closed: bool = False
    """Whether the client sends no parameter that it does not know."""
    body: str = "extra_body"
    """The setting that holds extra fields of a request."""
    retries: bool = False
    """Whether the client makes retries unless a setting of the call forbids it."""
    hinted: bool = False
    """Whether it needs cache hints; other providers cache by themselves."""
    takes_nothing: bool = False
    """Whether it accepts an empty message."""
    embeds: bool = False
    """Whether embedding models speak it, too."""


UNCOMMON = frozenset({"seed", "presence_penalty", "frequency_penalty", "logit_bias"})
"""Parameters that several dialects do not have."""

OPENAI = ApiDialect("openai", takes_nothing=True, embeds=True)
ANTHROPIC = ApiDialect("anthropic", UNCOMMON, retries=True, hinted=True)
GOOGLE = ApiDialect(
    "google",
    frozenset({"logit_bias", "parallel_tool_calls", "extra_body"}),
    is_closed=True,
    retries=True,
    embeds=True,
)
BEDROCK = ApiDialect(
    "bedrock",
    UNCOMMON | {"parallel_tool_calls"},
    body="bedrock_additional_model_requests_fields",
    hinted=True,
)


@dataclass(frozen=True, slots=True)
class RealProvider:
    """One provider: the dialect it speaks, its address, and where its key is looked for.

    Without `address` a graph must give a `base_url`. Without `keys` none is needed. `profile` is
    the library's provider of the same models; `prices` its name in the price table, empty where
    that has none. `free`: it runs on one's own machines, and nobody sends a bill. A cloud needs the
    `package` of an `extra`, and what the machine knows of its user goes to its `home` only.
    """

    name: str
    dialect: ApiDialect = OPENAI
    address: str = ""
    keys: tuple[str, ...] = ()
    profile: str = ""
    prices: str = ""
    free: bool = False
    extra: str = ""
    package: str = ""
    home: tuple[str, ...] = ()


def _like_openai(
    name: str,
    address: str,
    profile: str = "",
    keys: tuple[str, ...] = (),
    prices: str | None = None,
) -> RealProvider:
    """A provider with OpenAI's dialect; its key and its prices are found by its name."""
    keys = keys or (f"{name.upper()}_API_KEY",)
    prices = name if prices is None else prices
    return RealProvider(name, address=address, keys=keys, profile=profile, prices=prices)


XAI = "https://api.x.ai/v1", "", ("XAI_API_KEY", "GROK_API_KEY"), "x-ai"
GEMINI = "https://generativelanguage.googleapis.com"
PROVIDERS = (
    _like_openai("openai", "https://api.openai.com/v1", "openai:OpenAIProvider"),
    RealProvider(
        "anthropic",
        ANTHROPIC,
        "https://api.anthropic.com",
        ("ANTHROPIC_API_KEY",),
        prices="anthropic",
    ),
    RealProvider("google", GOOGLE, GEMINI, ("GOOGLE_API_KEY", "GEMINI_API_KEY"), prices="google"),
    RealProvider("gemini", GOOGLE, GEMINI, ("GEMINI_API_KEY", "GOOGLE_API_KEY"), prices="google"),
    RealProvider(
        "azure",
        keys=("AZURE_OPENAI_API_KEY",),
        profile="azure:AzureProvider",
        prices="azure",
        home=(".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"),
    ),
    RealProvider(
        "bedrock",
        BEDROCK,
        keys=("AWS_BEARER_TOKEN_BEDROCK",),
        prices="aws",
        extra="bedrock",
        package="boto3",
        home=(".amazonaws.com", ".amazonaws.com.cn", ".api.aws"),
    ),
    _like_openai("deepseek", "https://api.deepseek.com", "deepseek:DeepSeekProvider"),
    _like_openai(
        "fireworks", "https://api.fireworks.ai/inference/v1", "fireworks:FireworksProvider"
    ),
    _like_openai("grok", *XAI),
    _like_openai("groq", "https://api.groq.com/openai/v1"),
    _like_openai("mistral", "https://api.mistral.ai/v1"),
    _like_openai(
        "moonshot",
        "https://api.moonshot.ai/v1",
        "moonshotai:MoonshotAIProvider",
        ("MOONSHOT_API_KEY", "MOONSHOTAI_API_KEY"),
        "moonshotai",
    ),
    RealProvider(
        "ollama", address="http://127.0.0.1:11434/v1", profile="ollama:OllamaProvider", free=True
    ),
    _like_openai("openrouter", "https://openrouter.ai/api/v1", "openrouter:OpenRouterProvider"),
    _like_openai(
        "qwen",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "alibaba:AlibabaProvider",
        ("DASHSCOPE_API_KEY", "QWEN_API_KEY", "ALIBABA_API_KEY"),
        prices="",
    ),
    _like_openai("together", "https://api.together.xyz/v1", "together:TogetherProvider"),
    RealProvider(
        "vertex",
        GOOGLE,
        prices="google",
        extra="vertex",
        package="google.auth",
        home=(".googleapis.com",),
    ),
    RealProvider("vllm", profile="vllm:VLLMProvider", free=True),
    _like_openai("xai", *XAI),
    _like_openai(
        "zhipu",
        "https://open.bigmodel.cn/api/paas/v4",
        "zai:ZaiProvider",
        ("ZHIPU_API_KEY", "ZAI_API_KEY"),
        "zhipuai",
    ),
)
"""All providers that a graph can name and run."""

EMBEDDING = tuple(real for real in PROVIDERS if real.dialect.embeds and not real.extra)
"""The providers that embed: Anthropic has no such models, and clouds are not bridged."""

UNBRIDGED = ("cohere", "huggingface")
"""Providers that are known, so that a graph with them loads; it runs on another provider only."""

REAL_PROVIDERS = (*(provider.name for provider in PROVIDERS), *UNBRIDGED)
