SELECT judge_repo(%(repo)s::bigint, %(sha)s::text, %(with)s::jsonb, %(state)s::text, %(text)s::text) AS news
