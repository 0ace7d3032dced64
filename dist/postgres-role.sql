-- The role as which Keepsake connects: no superuser. It owns the database, and makes the three roles that requests,
-- token lookups and migrations run as (docs/install.md).
\getenv password KEEPSAKE_DB_PASSWORD
CREATE ROLE keepsake LOGIN CREATEROLE PASSWORD :'password';
CREATE DATABASE keepsake OWNER keepsake TEMPLATE template0 ENCODING 'UTF8';
\connect keepsake
CREATE EXTENSION vector;
CREATE EXTENSION hstore;
CREATE EXTENSION btree_gin;
CREATE EXTENSION btree_gist;
