"""One fake of each kind of secret, built at run time: no file holds one."""

import random
import string

LETTERS = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"


def noise(name: str, size: int, letters: str = LETTERS) -> str:
    """Random, but the same every time, and nothing that reads like a placeholder."""
    return "".join(random.Random(f"{name}/{size}").choices(letters, k=size))


def tokens() -> dict[str, str]:
    def n(name: str, size: int, letters: str = LETTERS) -> str:
        return noise(name, size, letters)

    return {
        "Anthropic": "sk-" + "ant-api03-" + n("anthropic", 80),
        "OpenAI project": "sk-" + "proj-" + n("openai", 60),
        "OpenAI legacy": "sk-" + n("legacy", 48),
        "OpenRouter": "sk-" + "or-v1-" + n("openrouter", 64, HEX),
        "AWS": "AK" + "IA" + n("aws", 16, UPPER),
        "private key": "-----BEGIN RSA " + "PRIVATE KEY-----",
        "OpenSSH key": "-----BEGIN OPENSSH " + "PRIVATE KEY-----",
        "JSON web token": "ey" + "J" + n("head", 30) + ".ey" + "J" + n("body", 60) + "." + n("sign", 43),
        "Azure storage": "Account" + "Key=" + n("azure", 86) + "==",
        "Google API": "AI" + "za" + n("google", 35),
        "Google OAuth": "ya" + "29." + n("oauth", 60),
        "GitHub classic": "gh" + "p_" + n("github", 36),
        "GitHub fine-grained": "github_" + "pat_" + n("fine", 60),
        "GitLab": "gl" + "pat-" + n("gitlab", 20),
        "npm": "np" + "m_" + n("npm", 36),
        "PyPI": "py" + "pi-AgEIcHlwaS5vcmc" + n("pypi", 80),
        "Stripe live": "sk_" + "live_" + n("stripe", 24),
        "Stripe test": "sk_" + "test_" + n("stripetest", 24),
        "Stripe webhook": "wh" + "sec_" + n("webhook", 32),
        "Slack bot": "xox" + "b-" + n("slackid", 12, string.digits) + "-" + n("slack", 24),
        "Slack app": "xa" + "pp-1-" + n("slackapp", 40),
        "Slack webhook": "https://hooks."
        + "slack.com/services/T"
        + n("t", 8, UPPER)
        + "/B"
        + n("b", 8, UPPER)
        + "/"
        + n("w", 24),
        "Twilio": "S" + "K" + n("twilio", 32, HEX),
        "SendGrid": "SG" + "." + n("sg", 22) + "." + n("sendgrid", 43),
        "Mailgun": "ke" + "y-" + n("mailgun", 32, HEX),
        "Mailchimp": n("mailchimp", 32, HEX) + "-" + "us12",
        "DigitalOcean": "do" + "p_v1_" + n("ocean", 64, HEX),
        "Databricks": "da" + "pi" + n("databricks", 32, HEX),
        "Doppler": "dp." + "pt." + n("doppler", 43),
        "Shopify": "shp" + "at_" + n("shopify", 32, HEX),
        "Vault": "hv" + "s." + n("vault", 90),
        "Hugging Face": "hf" + "_" + n("face", 34),
        "Groq": "gs" + "k_" + n("groq", 52),
        "Replicate": "r8" + "_" + n("replicate", 37),
        "xAI": "xa" + "i-" + n("xai", 80),
        "Linear": "lin_" + "api_" + n("linear", 40),
        "Notion": "nt" + "n_" + n("notion", 46),
        "Docker": "dckr_" + "pat_" + n("docker", 27),
        "age": "AGE-" + "SECRET-KEY-1" + n("age", 58, UPPER),
        "Telegram": n("bot", 9, "123456789") + ":" + "AA" + n("telegram", 33),
        "Discord": "M" + n("discord1", 23) + "." + n("discord2", 6) + "." + n("discord3", 27),
        "Square": "sq0" + "atp-" + n("square", 22),
        "Airtable": "pa" + "t" + n("airtable", 14) + "." + n("airtable2", 64, HEX),
        "Grafana": "gl" + "sa_" + n("grafana", 41),
        "Sentry": "sn" + "trys_" + n("sentry", 60),
        "password in a URL": "postgresql://joe:" + n("url", 14) + "@db.internal/app",
    }
