DO $$
DECLARE
    first CONSTANT oid := 10;
    made CONSTANT oid := 16384;
    change text;
BEGIN
    UPDATE pg_authid SET rolname = 'damascus_admin' WHERE oid = first AND rolname <> 'damascus_admin';
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'damascus') THEN
        CREATE ROLE damascus;
    END IF;
    ALTER ROLE damascus_admin PASSWORD '@damascus_admin@';
    ALTER ROLE damascus LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD '@damascus@';
    ALTER DATABASE damascus OWNER TO damascus;
    FOR change IN
        SELECT format('ALTER TABLE %s OWNER TO damascus', c.oid::regclass)
          FROM pg_class c
         WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND relowner = first AND c.oid >= made
           AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i', 'e'))
        UNION ALL
        SELECT format('ALTER TYPE %s OWNER TO damascus', t.oid::regtype)
          FROM pg_type t
         WHERE typtype IN ('d', 'e', 'r') AND typowner = first AND t.oid >= made
           AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = t.oid AND d.deptype IN ('i', 'e'))
        UNION ALL
        SELECT format('ALTER ROUTINE %s OWNER TO damascus', p.oid::regprocedure)
          FROM pg_proc p
         WHERE proowner = first AND p.oid >= made
           AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype IN ('i', 'e'))
        UNION ALL
        SELECT format('ALTER SCHEMA %I OWNER TO damascus', nspname)
          FROM pg_namespace WHERE nspowner = first AND oid >= made
    LOOP
        EXECUTE change;
    END LOOP;
END $$;
