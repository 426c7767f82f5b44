-- Questions of two kinds: `question` holds its story until it is answered; `write` asks about one write of an agent
-- that waits for the answer (the story stays leased), and an answer changes nothing but the question.

ALTER TABLE human_issues ADD COLUMN kind text NOT NULL DEFAULT 'question' CHECK (kind IN ('question', 'write'));
