-- Pictures of pages: what a person is asked about, and what a person accepted. No agent reaches this table.
-- readable by: 9

CREATE TABLE screenshots (
    item_id bigint NOT NULL REFERENCES work_items (id),
    page text NOT NULL,
    -- of the browser's window, as 1280x800
    viewport text NOT NULL,
    sha256 text NOT NULL,
    -- by which a question names it
    mark text NOT NULL,
    png bytea NOT NULL,
    browser text NOT NULL,
    shown_at timestamptz NOT NULL DEFAULT now(),
    accepted_at timestamptz,
    accepted_by text,
    PRIMARY KEY (item_id, page, viewport, sha256),
    CONSTRAINT screenshots_are_bounded CHECK (octet_length(png) BETWEEN 1 AND 20000000),
    CONSTRAINT screenshots_are_what_they_say CHECK (sha256 = encode(sha256(png), 'hex')),
    CONSTRAINT screenshots_accepted_by_somebody CHECK ((accepted_at IS NULL) = (accepted_by IS NULL) AND accepted_by <> '')
);
CREATE INDEX screenshots_of_page ON screenshots (page, viewport) WHERE accepted_at IS NOT NULL;

COMMENT ON CONSTRAINT screenshots_are_bounded ON screenshots IS 'No page makes a row of any size.';
COMMENT ON CONSTRAINT screenshots_are_what_they_say ON screenshots IS 'Receipts name a picture by its hash: it is of these very bytes.';
COMMENT ON CONSTRAINT screenshots_accepted_by_somebody ON screenshots IS 'An acceptance is a person''s word: it says whose, and when.';
