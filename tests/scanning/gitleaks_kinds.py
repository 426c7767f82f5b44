"""The kinds of secrets that gitleaks lists, by its names for them: which rule of ours finds each, in which sample.

Only the names are gitleaks'. A sample is a line as a program or a settings file would have it, put together at run
time, so that no file holds one. `NONE` says why a kind has no rule of ours.
"""

import base64
import string

from tests.scanning.planted import HEX, UPPER, noise, tokens

SERVICE, ASSIGNED, REQUEST, URL = (
    "key of a service", "secret in an assignment", "credentials in a request", "password in a URL",
)  # fmt: skip
LETTERS = string.ascii_letters
SMALL = string.ascii_lowercase + string.digits
DIGITS = string.digits


def n(name: str, size: int, letters: str = SMALL) -> str:
    return noise(name, size, letters)


def uuid(name: str) -> str:
    return "-".join(n(f"{name}{size}", size, HEX) for size in (8, 4, 4, 4, 12))


def by_name() -> dict[str, tuple[str, str]]:
    """Keys without a shape: the name of the service beside them gives them away."""
    values = {
        "adafruit-api-key": ("ADAFRUIT_KEY", 32, SMALL), "adobe-client-id": ("adobe_client", 32, HEX),
        "airtable-api-key": ("airtable_api", 17, SMALL), "algolia-api-key": ("algolia_search", 32, SMALL),
        "alibaba-secret-key": ("alibaba_cloud", 30, SMALL),
        "asana-client-secret": ("asana_app", 32, SMALL), "atlassian-api-token": ("atlassian_user", 24, SMALL),
        "beamer-api-token": ("beamer", 44, SMALL), "bitbucket-client-id": ("bitbucket_client", 32, SMALL),
        "bitbucket-client-secret": ("bitbucket_app", 64, SMALL), "bittrex-access-key": ("bittrex_access", 32, SMALL),
        "bittrex-secret-key": ("bittrex_private", 32, SMALL), "cisco-meraki-api-key": ("meraki_dashboard", 40, HEX),
        "cloudflare-api-key": ("cloudflare_api", 40, SMALL),
        "cloudflare-global-api-key": ("cloudflare_global", 37, HEX),
        "codecov-access-token": ("codecov_upload", 32, SMALL), "cohere-api-token": ("cohere", 40, SMALL),
        "coinbase-access-token": ("coinbase", 64, SMALL), "confluent-access-token": ("confluent", 16, SMALL),
        "confluent-secret-key": ("confluent_cluster", 64, SMALL),
        "contentful-delivery-api-token": ("contentful", 43, SMALL), "datadog-access-token": ("datadog_app", 40, SMALL),
        "discord-api-token": ("discord_bot", 64, HEX), "discord-client-secret": ("discord_client", 32, SMALL),
        "droneci-access-token": ("droneci", 32, SMALL), "dropbox-api-token": ("dropbox_app", 15, SMALL),
        "etsy-access-token": ("etsy", 24, SMALL), "facebook-secret": ("facebook_app", 32, HEX),
        "fastly-api-token": ("fastly", 32, SMALL), "finicity-api-token": ("finicity", 32, HEX),
        "finicity-client-secret": ("finicity_partner", 20, SMALL), "finnhub-access-token": ("finnhub", 20, SMALL),
        "flickr-access-token": ("flickr", 32, SMALL), "freshbooks-access-token": ("freshbooks", 64, SMALL),
        "gitter-access-token": ("gitter", 40, SMALL), "jfrog-api-key": ("jfrog", 73, SMALL),
        "jfrog-identity-token": ("artifactory_identity", 64, SMALL), "kraken-access-token": ("kraken", 80, SMALL),
        "kucoin-access-token": ("kucoin", 24, HEX), "launchdarkly-access-token": ("launchdarkly", 40, SMALL),
        "linear-client-secret": ("linear_client", 32, HEX), "linkedin-client-secret": ("linkedin_app", 16, SMALL),
        "looker-client-id": ("looker_client", 20, SMALL), "looker-client-secret": ("looker_app", 24, SMALL),
        "mattermost-access-token": ("mattermost", 26, SMALL), "messagebird-api-token": ("messagebird", 25, SMALL),
        "netlify-access-token": ("netlify", 44, SMALL), "new-relic-user-api-id": ("new_relic_user", 64, SMALL),
        "nytimes-access-token": ("nytimes", 32, SMALL), "plaid-client-id": ("plaid_client", 24, SMALL),
        "plaid-secret-key": ("plaid_live", 30, SMALL), "privateai-api-token": ("private_ai", 32, SMALL),
        "rapidapi-access-token": ("rapidapi", 50, SMALL), "sendbird-access-token": ("sendbird", 40, HEX),
        "sentry-access-token": ("sentry_auth", 64, HEX), "sumologic-access-token": ("sumologic", 64, SMALL),
        "travisci-access-token": ("travis_ci", 22, SMALL), "twitch-api-token": ("twitch", 30, SMALL),
        "twitter-access-secret": ("twitter_access", 45, SMALL), "twitter-api-key": ("twitter_consumer", 25, SMALL),
        "twitter-api-secret": ("twitter_app", 50, SMALL), "zendesk-secret-key": ("zendesk", 40, SMALL),
    }  # fmt: skip
    found = {kind: (SERVICE, f'{name} = "{n(kind, size, letters)}"') for kind, (name, size, letters) in values.items()}
    for kind, name in (
        ("heroku-api-key", "HEROKU"), ("hubspot-api-key", "hubspot_hapi"), ("kucoin-secret-key", "kucoin_app"),
        ("snyk-api-token", "SNYK"), ("squarespace-access-token", "squarespace"),
        ("messagebird-client-id", "messagebird_id"),
        ("sendbird-access-id", "sendbird_app"),
    ):  # fmt: skip
        found[kind] = (SERVICE, f'{name}: "{uuid(kind)}"')
    return found | {
        "gocardless-api-token": (SERVICE, f"gocardless = 'live_{n('gocardless', 40)}'"),
        "intercom-api-key": (SERVICE, f"intercom => 'dG9{n('intercom', 57)}'"),
        "okta-access-token": (SERVICE, f"okta = '00{n('okta', 40)}'"),
        "twitter-access-token": (SERVICE, f"twitter_user = '{n('tw1', 18, DIGITS)}-{n('tw2', 24)}'"),
    }


def by_shape() -> dict[str, tuple[str, str]]:
    planted = tokens()
    return {
        "1password-secret-key": ("1Password key", "A" + "3-" + n("a", 6, UPPER) + "-" + n("b", 11, UPPER)
                                 + "".join("-" + n(f"c{k}", 5, UPPER) for k in range(3))),
        "1password-service-account-token": ("1Password key", "ops_" + "eyJ" + n("ops", 260)),
        "adobe-client-secret": ("Adobe secret", "p8" + "e-" + n("adobe", 32)),
        "age-secret-key": ("age key", planted["age"]),
        "airtable-personnal-access-token": ("Airtable token", planted["Airtable"]),
        "alibaba-access-key-id": ("Alibaba key", "LT" + "AI" + n("alibaba", 20)),
        "anthropic-admin-api-key": ("Anthropic key", "sk-" + "ant-admin01-" + n("admin", 93)),
        "anthropic-api-key": ("Anthropic key", planted["Anthropic"]),
        "artifactory-api-key": ("Artifactory token", "AK" + "Cp" + n("artifactory", 69)),
        "artifactory-reference-token": ("Artifactory token", "cm" + "Vmd" + n("reference", 59)),
        "authress-service-client-access-key": ("Authress key", "sc_" + n("au", 20) + "." + n("th", 4) + ".acc" + "_"
                                               + n("re", 20) + "." + n("ss", 60)),
        "aws-access-token": ("AWS access key", planted["AWS"]),
        "aws-amazon-bedrock-api-key-long-lived": ("Bedrock key", "AB" + "SK" + n("bedrock", 130)),
        "aws-amazon-bedrock-api-key-short-lived": ("Bedrock key", "bedrock-" + "api-key-" + n("short", 40)),
        "azure-ad-client-secret": ("Azure client secret", "a8b" + "8Q" + "~" + n("azuread", 34)),
        "clickhouse-cloud-api-secret-key": ("ClickHouse key", "4b" + "1d" + n("clickhouse", 38)),
        "clojars-api-token": ("Clojars token", "CLO" + "JARS_" + n("clojars", 60)),
        "cloudflare-origin-ca-key": ("Cloudflare key", "v1" + ".0-" + n("ca", 24, HEX) + "-" + n("origin", 146, HEX)),
        "databricks-api-token": ("Databricks token", planted["Databricks"]),
        "defined-networking-api-token": ("Defined Networking token", "dn" + "key-" + n("dn", 26) + "-" + n("key", 52)),
        "digitalocean-access-token": ("DigitalOcean token", "do" + "o_v1_" + n("doo", 64, HEX)),
        "digitalocean-pat": ("DigitalOcean token", planted["DigitalOcean"]),
        "digitalocean-refresh-token": ("DigitalOcean token", "do" + "r_v1_" + n("dor", 64, HEX)),
        "doppler-api-token": ("Doppler token", planted["Doppler"]),
        "dropbox-long-lived-api-token": ("Dropbox token", n("drop", 11) + "A" * 10 + n("box", 43)),
        "dropbox-short-lived-api-token": ("Dropbox token", "s" + "l." + n("dropbox", 135)),
        "duffel-api-token": ("Duffel token", "duf" + "fel_live_" + n("duffel", 43)),
        "dynatrace-api-token": ("Dynatrace token", "dt" + "0c01." + n("dyna", 24) + "." + n("trace", 64)),
        "easypost-api-token": ("EasyPost key", "EZ" + "AK" + n("easy", 54)),
        "easypost-test-api-token": ("EasyPost key", "EZ" + "TK" + n("post", 54)),
        "facebook-access-token": ("Facebook token", n("fb", 15, "123456789") + "|" + n("facebook", 27)),
        "facebook-page-access-token": ("Facebook token", "EA" + "AC" + n("page", 120)),
        "flutterwave-encryption-key": ("Flutterwave key", "FLW" + "SECK_TEST-" + n("enc", 12, HEX)),
        "flutterwave-secret-key": ("Flutterwave key", "FLW" + "SECK_TEST-" + n("flutter", 32, HEX) + "-X"),
        "flyio-access-token": ("Fly.io token", "fo" + "1_" + n("fly", 43)),
        "frameio-api-token": ("Frame.io token", "fi" + "o-u-" + n("frame", 64)),
        "gcp-api-key": ("Google API key", planted["Google API"]),
        "github-app-token": ("GitHub token", "gh" + "s_" + n("app", 36)),
        "github-fine-grained-pat": ("GitHub token", planted["GitHub fine-grained"]),
        "github-oauth": ("GitHub token", "gh" + "o_" + n("oauth", 36)),
        "github-pat": ("GitHub token", planted["GitHub classic"]),
        "github-refresh-token": ("GitHub token", "gh" + "r_" + n("refresh", 36)),
        "gitlab-cicd-job-token": ("GitLab token", "gl" + "cbt-1a_" + n("job", 20)),
        "gitlab-deploy-token": ("GitLab token", "gl" + "dt-" + n("deploy", 20)),
        "gitlab-feature-flag-client-token": ("GitLab token", "gl" + "ffct-" + n("flag", 20)),
        "gitlab-feed-token": ("GitLab token", "gl" + "ft-" + n("feed", 20)),
        "gitlab-incoming-mail-token": ("GitLab token", "gl" + "imt-" + n("mail", 25)),
        "gitlab-kubernetes-agent-token": ("GitLab token", "gl" + "agent-" + n("agent", 50)),
        "gitlab-oauth-app-secret": ("GitLab token", "gl" + "oas-" + n("oas", 64)),
        "gitlab-pat": ("GitLab token", planted["GitLab"]),
        "gitlab-pat-routable": ("GitLab token", "gl" + "pat-" + n("route", 30) + ".01.0a" + n("able", 7)),
        "gitlab-ptt": ("GitLab token", "gl" + "ptt-" + n("trigger", 40, HEX)),
        "gitlab-rrt": ("GitLab token", "GR" + "1348941" + n("runner", 20)),
        "gitlab-runner-authentication-token": ("GitLab token", "gl" + "rt-" + n("auth", 20)),
        "gitlab-runner-authentication-token-routable": ("GitLab token", "gl" + "rt-t1_" + n("rt", 27) + ".01.0a1b"),
        "gitlab-scim-token": ("GitLab token", "gl" + "soat-" + n("scim", 20)),
        "gitlab-session-cookie": ("GitLab token", "_gitlab_" + "session=" + n("session", 32, HEX)),
        "grafana-api-key": ("Grafana token", "eyJr" + "Ijoi" + n("grafana", 80)),
        "grafana-cloud-api-token": ("Grafana token", "gl" + "c_" + n("cloud", 60)),
        "grafana-service-account-token": ("Grafana token", "gl" + "sa_" + n("service", 32) + "_" + n("sum", 8, HEX)),
        "harness-api-key": ("Harness key", "pa" + "t." + n("har", 22) + "." + n("ness", 24) + "." + n("key", 20)),
        "hashicorp-tf-api-token": ("Terraform token", n("tf", 14) + ".atlas" + "v1." + n("terraform", 65)),
        "heroku-api-key-v2": ("Heroku key", "HR" + "KU-AA" + n("heroku", 58)),
        "huggingface-access-token": ("Hugging Face token", planted["Hugging Face"]),
        "huggingface-organization-api-token": ("Hugging Face token", "api_" + "org_" + n("hf", 34, LETTERS)),
        "infracost-api-token": ("Infracost key", "ic" + "o-" + n("infracost", 32)),
        "intra42-client-secret": ("42 secret", "s-s4" + "t2ud-" + n("intra", 64, HEX)),
        "jwt": ("JSON web token", planted["JSON web token"]),
        "linear-api-key": ("Linear key", planted["Linear"]),
        "lob-api-key": ("Lob key", "li" + "ve_" + n("lob", 35, HEX)),
        "mailchimp-api-key": ("Mailchimp key", planted["Mailchimp"]),
        "mailgun-private-api-token": ("Mailgun key", planted["Mailgun"]),
        "mailgun-signing-key": ("Mailgun key", n("mg1", 32, HEX) + "-" + n("mg2", 8, HEX) + "-" + n("mg3", 8, HEX)),
        "mapbox-api-token": ("Mapbox token", "s" + "k." + n("map", 60) + "." + n("box", 22)),
        "maxmind-license-key": ("MaxMind key", n("max", 6) + "_" + n("mind", 29) + "_m" + "mk"),
        "microsoft-teams-webhook": ("Teams webhook", "https://corp.webhook." + "office.com/webhookb2/"
                                    + f"{uuid('t1')}@{uuid('t2')}/IncomingWebhook/{n('teams', 32, HEX)}/{uuid('t3')}"),
        "new-relic-browser-api-token": ("New Relic key", "NR" + "JS-" + n("browser", 19, HEX)),
        "new-relic-insert-key": ("New Relic key", "NR" + "II-" + n("insert", 32)),
        "new-relic-user-api-key": ("New Relic key", "NR" + "AK-" + n("nrak", 27, UPPER)),
        "notion-api-token": ("Notion token", planted["Notion"]),
        "npm-access-token": ("npm token", planted["npm"]),
        "nuget-config-password": ("NuGet password", '<add key="ClearText' + f'Password" value="{n("nuget", 14)}" />'),
        "openai-api-key": ("OpenAI key", "sk-" + n("oa1", 20, LETTERS) + "T3Blbk" + "FJ"
                           + n("oa2", 20, LETTERS)),
        "openshift-user-token": ("OpenShift token", "sha" + "256~" + n("openshift", 43)),
        "perplexity-api-key": ("Perplexity key", "pp" + "lx-" + n("perplexity", 48)),
        "plaid-api-token": ("Plaid token", "access-" + "production-" + uuid("plaid")),
        "planetscale-api-token": ("PlanetScale token", "pscale_" + "tkn_" + n("ps1", 43)),
        "planetscale-oauth-token": ("PlanetScale token", "pscale_" + "oauth_" + n("ps2", 43)),
        "planetscale-password": ("PlanetScale token", "pscale_" + "pw_" + n("ps3", 43)),
        "postman-api-token": ("Postman key", "PM" + "AK-" + n("pm1", 24, HEX) + "-" + n("pm2", 34, HEX)),
        "prefect-api-token": ("Prefect key", "pn" + "u_" + n("prefect", 36)),
        "private-key": ("private key", planted["private key"]),
        "pulumi-api-token": ("Pulumi token", "pu" + "l-" + n("pulumi", 40, HEX)),
        "pypi-upload-token": ("PyPI token", planted["PyPI"]),
        "readme-api-token": ("ReadMe key", "rd" + "me_" + n("readme", 70)),
        "rubygems-api-token": ("RubyGems key", "ruby" + "gems_" + n("gems", 48, HEX)),
        "scalingo-api-token": ("Scalingo token", "tk-" + "us-" + n("scalingo", 48)),
        "sendgrid-api-token": ("SendGrid key", planted["SendGrid"]),
        "sendinblue-api-token": ("Brevo key", "xkey" + "sib-" + n("sib", 64, HEX) + "-" + n("blue", 16)),
        "sentry-org-token": ("Sentry token", planted["Sentry"]),
        "sentry-user-token": ("Sentry token", "sn" + "tryu_" + n("user", 64, HEX)),
        "settlemint-application-access-token": ("SettleMint token", "sm_" + "aat_" + n("sm1", 16)),
        "settlemint-personal-access-token": ("SettleMint token", "sm_" + "pat_" + n("sm2", 16)),
        "settlemint-service-access-token": ("SettleMint token", "sm_" + "sat_" + n("sm3", 16)),
        "shippo-api-token": ("Shippo token", "ship" + "po_live_" + n("shippo", 40, HEX)),
        "shopify-access-token": ("Shopify token", planted["Shopify"]),
        "shopify-custom-access-token": ("Shopify token", "shp" + "ca_" + n("shpca", 32, HEX)),
        "shopify-private-app-access-token": ("Shopify token", "shp" + "pa_" + n("shppa", 32, HEX)),
        "shopify-shared-secret": ("Shopify token", "shp" + "ss_" + n("shpss", 32, HEX)),
        "sidekiq-secret": ("Sidekiq secret", "BUNDLE_ENTERPRISE__" + "CONTRIBSYS__COM=" + n("sk1", 8, HEX) + ":"
                           + n("sk2", 8, HEX)),
        "slack-app-token": ("Slack token", planted["Slack app"]),
        "slack-bot-token": ("Slack token", planted["Slack bot"]),
        "slack-config-access-token": ("Slack token", "xo" + "xe.xox" + "p-1-" + n("config", 163)),
        "slack-config-refresh-token": ("Slack token", "xo" + "xe-1-" + n("again", 146)),
        "slack-legacy-bot-token": ("Slack token", "xo" + "xb-" + n("lb", 12, DIGITS) + "-" + n("bot", 24)),
        "slack-legacy-token": ("Slack token", "xo" + "xs-" + n("ls", 40)),
        "slack-legacy-workspace-token": ("Slack token", "xo" + "xa-2-" + n("ws", 40)),
        "slack-user-token": ("Slack token", "xo" + "xp-" + n("su", 12, DIGITS) + "-" + n("user", 32)),
        "slack-webhook-url": ("Slack webhook", planted["Slack webhook"]),
        "sonar-api-token": ("Sonar token", "sq" + "u_" + n("sonar", 40, HEX)),
        "sourcegraph-access-token": ("Sourcegraph token", "sg" + "p_local_" + n("graph", 40, HEX)),
        "square-access-token": ("Square token", "EA" + "AA" + n("square", 60)),
        "stripe-access-token": ("Stripe key", planted["Stripe live"]),
        "telegram-bot-api-token": ("Telegram token", planted["Telegram"]),
        "twilio-api-key": ("Twilio key", planted["Twilio"]),
        "twitter-bearer-token": ("Twitter token", "A" * 22 + n("bearer", 90)),
        "typeform-api-token": ("Typeform token", "tf" + "p_" + n("typeform", 59)),
        "vault-batch-token": ("Vault token", "hv" + "b." + n("batch", 140)),
        "vault-service-token": ("Vault token", planted["Vault"]),
        "yandex-access-token": ("Yandex key", "t" + "1." + n("ya1", 20) + "." + n("ya2", 86)),
        "yandex-api-key": ("Yandex key", "AQ" + "VN" + n("ya3", 36)),
        "yandex-aws-access-token": ("Yandex key", "Y" + "C" + n("ya4", 38)),
    }  # fmt: skip


def by_context() -> dict[str, tuple[str, str]]:
    """Neither a shape nor a service: where it stands gives it away."""
    encoded = "ey" + "J" + n("h", 30)
    return {
        "curl-auth-header": (REQUEST, f'curl -H "Authorization: Bearer {n("bearer2", 40)}" https://api.internal/'),
        "curl-auth-user": (REQUEST, f"curl -u joe:{n('curl', 14)} https://api.internal/"),
        "generic-api-key": (ASSIGNED, f'api_key = "{n("generic", 32)}"'),
        "hashicorp-tf-password": (ASSIGNED, f'administrator_login_password = "{n("tfp", 18)}"'),
        "kubernetes-secret-yaml": (ASSIGNED, f"  password: {n('k8s', 24)}"),
        "freemius-secret-key": (ASSIGNED, f"'secret_key' => 'sk_{n('freemius', 29)}',"),
        "sidekiq-sensitive-url": (URL, f"https://{n('cs1', 8, HEX)}:{n('cs2', 8, HEX)}@gems.contribsys.com/"),
        "jwt-base64": ("JSON web token", _base64(f"{encoded}.ey" + "J" + f"{n('b', 60)}.{n('s', 43)}")),
    }


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


COVERED = {**by_name(), **by_shape(), **by_context()}
NONE = {
    "asana-client-id": "an application's public number, no secret",
    "discord-client-id": "an application's public number, no secret",
    "flutterwave-public-key": "made to be shown in a browser",
    "linkedin-client-id": "14 characters that every login page of the application shows",
    "lob-pub-api-key": "made to be shown in a browser",
    "mailgun-pub-key": "made to be shown in a browser; it checks addresses",
    "sumologic-access-id": "the name of a key, worth nothing without the key itself",
    "pkcs12-file": "a binary file: only text is looked through",
}
