SELECT publish_events(%(most)s::int) AS numbered
