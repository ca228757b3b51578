-- Run once, by the superuser, in the database that Laurel is to have: the role that Laurel connects as. It owns this database, because
-- migrations and the partitions of new months make tables, and is nobody anywhere else.
create role laurel login nosuperuser nocreatedb nocreaterole noreplication nobypassrls;
do $$
begin
  execute format('alter database %I owner to laurel', current_database());
  execute format('revoke all on database %I from public', current_database());
end
$$;
alter schema public owner to laurel;
revoke all on schema public from public;
