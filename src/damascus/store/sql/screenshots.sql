-- Pictures of pages that people are shown and accept.

-- name: screenshots_accepted
-- How a page may look: as in the story that landed last of those whose picture of it was accepted, and as accepted in a story that is
-- not over, this one or another that may be below it. What a cancelled story showed counts for nothing.
WITH known AS (
    SELECT s.png, s.browser, s.accepted_by, s.accepted_at, i.story_id, i.phase IN ('done', 'stale') AS landed,
           (SELECT max(e.id) FROM events_outbox e WHERE e.item_id = i.id AND e.kind = 'story.landed') AS at
      FROM screenshots s JOIN work_items i ON i.id = s.item_id
     WHERE i.repo_id = %(repo)s::bigint AND s.page = %(page)s::text AND s.viewport = %(viewport)s::text
       AND s.accepted_at IS NOT NULL AND i.phase <> 'cancelled')
(SELECT * FROM known WHERE landed ORDER BY at DESC NULLS LAST, accepted_at DESC LIMIT 1)
UNION ALL
(SELECT * FROM known WHERE NOT landed ORDER BY lower(story_id) <> lower(%(story)s::text), accepted_at DESC LIMIT %(most)s::int);

-- name: screenshot_show
-- The one before it, if nobody accepted that, is asked about no more.
WITH story AS (SELECT id FROM work_items WHERE repo_id = %(repo)s::bigint AND lower(story_id) = lower(%(story)s::text)),
gone AS (
    DELETE FROM screenshots s USING story WHERE s.item_id = story.id AND s.page = %(page)s::text AND s.viewport = %(viewport)s::text
       AND s.accepted_at IS NULL AND s.sha256 <> encode(sha256(%(png)s::bytea), 'hex'))
INSERT INTO screenshots (item_id, page, viewport, sha256, mark, png, browser)
SELECT id, %(page)s::text, %(viewport)s::text, encode(sha256(%(png)s::bytea), 'hex'), %(mark)s::text, %(png)s::bytea, %(browser)s::text
  FROM story
ON CONFLICT DO NOTHING;

-- name: accept_screenshots
UPDATE screenshots SET accepted_at = coalesce(accepted_at, now()), accepted_by = coalesce(accepted_by, %(by)s::text)
 WHERE item_id = %(item)s::bigint AND mark = ANY (%(marks)s::text[]) RETURNING mark, page;

-- name: screenshots_shown
-- What was shown last of each page in a story.
SELECT DISTINCT ON (page, viewport) page, viewport, mark, png FROM screenshots
 WHERE item_id = %(item)s::bigint ORDER BY page, viewport, shown_at DESC;

-- name: screenshots_of
-- What a person accepted in a story.
SELECT page, viewport, mark, sha256, browser, accepted_by, accepted_at FROM screenshots
 WHERE item_id = %(item)s::bigint AND accepted_at IS NOT NULL ORDER BY page, viewport, accepted_at;
