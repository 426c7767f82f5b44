UPDATE repos SET forge_kind = %(kind)s::text, forge_url = %(url)s::text, forge_token_env = %(token_env)s::text
 WHERE id = %(repo)s::bigint
