SELECT id FROM queue
