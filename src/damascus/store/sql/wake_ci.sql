-- Whoever waits for CI of a commit looks now; how many.
SELECT coalesce(sum(wake(kind, %(sha)s::text, 2147483647)), 0)::integer AS woken FROM unnest(%(kinds)s::text[]) AS kind
