-- The item lets go of its repository: who was kept out looks again, and one who waits for a place.
CREATE OR REPLACE FUNCTION free_repo(p_item bigint, p_repo bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM repo_locks WHERE item_id = p_item;
    PERFORM wake('chain', p_item::text, 2147483647);
    PERFORM wake('repo_full', p_repo::text, 1);
END $$;
