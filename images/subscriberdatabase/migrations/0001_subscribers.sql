-- Subscribers of a core. docs/subscriber-data.md describes it.
CREATE TABLE core5g.subscribers (
	supi    text COLLATE "C" PRIMARY KEY CHECK (supi ~ '^imsi-[0-9]{5,15}$'),
	gpsi    text UNIQUE DEFERRABLE INITIALLY DEFERRED CHECK (gpsi ~ '^(msisdn-[0-9]{5,15}|extid-[^@]+@[^@]+)$'),
	barred  boolean NOT NULL DEFAULT false,
	slices  jsonb NOT NULL CHECK (jsonb_typeof(slices) = 'array' AND jsonb_array_length(slices) BETWEEN 1 AND 8),
	ambr    jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(ambr) = 'object'),
	amf     text NOT NULL DEFAULT '8000' CHECK (amf ~ '^[0-9A-Fa-f]{4}$'),
	keys    bytea NOT NULL,
	changed timestamptz NOT NULL DEFAULT now()
);

-- One row: something sealed with the keys of this database, so that other keys are noticed before a subscriber is.
CREATE TABLE core5g.sealing (
	id     boolean PRIMARY KEY DEFAULT true CHECK (id),
	sealed bytea NOT NULL
);

-- A payload has fewer than 8000 octets, and a SUPI at most 20.
CREATE FUNCTION core5g.tell() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	batch text;
BEGIN
	FOR batch IN
		SELECT string_agg(supi, ' ') FROM (SELECT supi, (row_number() OVER () - 1) / 350 AS part FROM told) AS parts GROUP BY part
	LOOP
		PERFORM pg_notify('core5g_subscribers', batch);
	END LOOP;
	RETURN NULL;
END
$$;
CREATE TRIGGER tell_inserted AFTER INSERT ON core5g.subscribers REFERENCING NEW TABLE AS told FOR EACH STATEMENT EXECUTE FUNCTION core5g.tell();
CREATE TRIGGER tell_updated AFTER UPDATE ON core5g.subscribers REFERENCING NEW TABLE AS told FOR EACH STATEMENT EXECUTE FUNCTION core5g.tell();
CREATE TRIGGER tell_deleted AFTER DELETE ON core5g.subscribers REFERENCING OLD TABLE AS told FOR EACH STATEMENT EXECUTE FUNCTION core5g.tell();

-- What a TRUNCATE took nobody can list: '*' is everybody.
CREATE FUNCTION core5g.tell_all() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM pg_notify('core5g_subscribers', '*');
	RETURN NULL;
END
$$;
CREATE TRIGGER tell_truncated AFTER TRUNCATE ON core5g.subscribers FOR EACH STATEMENT EXECUTE FUNCTION core5g.tell_all();

-- A SUPI stays: the keys are sealed for it.
CREATE FUNCTION core5g.keep_supi() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE EXCEPTION 'supi cannot change: delete the row and import the subscriber with its keys';
END
$$;
CREATE TRIGGER keep_supi BEFORE UPDATE ON core5g.subscribers FOR EACH ROW WHEN (OLD.supi <> NEW.supi) EXECUTE FUNCTION core5g.keep_supi();
