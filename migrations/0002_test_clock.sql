-- The test clock of the account: the time that every tenant has reached (milliseconds since 1970), null while it has never been set. A partition of
-- Redis that is opened, also an empty one or that of a new tenant, continues from it.
alter table account add column test_clock_ms bigint;
-- A moment in the future shows that it has been set.
update account set test_clock_ms = newest_at from stream_offsets
 where tenant = 1 and test_clock and newest_at > extract(epoch from now()) * 1000;
