-- The role as which Keepsake connects: no superuser. It owns the database, makes the three roles that requests, token
-- lookups and migrations run as (docs/install.md), and the throwaway database in which a backup is verified.
\getenv password KEEPSAKE_DB_PASSWORD
CREATE ROLE keepsake LOGIN CREATEROLE CREATEDB PASSWORD :'password';
CREATE DATABASE keepsake OWNER keepsake TEMPLATE template0 ENCODING 'UTF8';
\connect keepsake
CREATE EXTENSION vector;
CREATE EXTENSION hstore;
CREATE EXTENSION btree_gin;
CREATE EXTENSION btree_gist;
-- Only a superuser may create it: the throwaway database has it from here.
\connect template1
CREATE EXTENSION vector;
