-- Memories are compared in one form (src/texts.rs): NFC, \n as the line end, without characters that cannot be seen, and without
-- blanks around them. Their hashes follow; of several active ones that are now the same, the first gets it, and no memory goes.
UPDATE memory_items i SET content_hash = n.hash
FROM (
    SELECT d.user_id, d.id, d.hash FROM (
        SELECT c.*, row_number() OVER (PARTITION BY user_id, theme_id, hash, status, key, owner_agent_id, project_id, valid_from, valid_until
                                       ORDER BY id) AS place
        FROM (
            SELECT user_id, id, theme_id, status, key, owner_agent_id, project_id, valid_from, valid_until, content_hash,
                   sha256(convert_to(regexp_replace(replace(replace(normalize(regexp_replace(content,
                       '[\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFF8\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0000-\U000E001F\U000E0080-\U000E0FFF]',
                       '', 'g'), NFC), E'\r\n', E'\n'), E'\r', E'\n'),
                       '^[\u0009-\u000D\u0020\u0085\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+|[\u0009-\u000D\u0020\u0085\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+$',
                       '', 'g'), 'UTF8')) AS hash
            FROM memory_items
            -- The others are in this form.
            WHERE theme_id IS NOT NULL AND content ~ '[^\u0001-\u007F]|\r'
        ) c
        WHERE hash <> content_hash
    ) d
    WHERE d.status <> 'active' OR d.place = 1 AND NOT EXISTS (
        SELECT FROM memory_items o
        WHERE o.user_id = d.user_id AND o.theme_id = d.theme_id AND o.content_hash = d.hash AND o.status = 'active'
          AND o.key IS NOT DISTINCT FROM d.key AND o.owner_agent_id IS NOT DISTINCT FROM d.owner_agent_id
          AND o.project_id IS NOT DISTINCT FROM d.project_id
          AND o.valid_from IS NOT DISTINCT FROM d.valid_from AND o.valid_until IS NOT DISTINCT FROM d.valid_until)
) n
WHERE i.user_id = n.user_id AND i.id = n.id;
