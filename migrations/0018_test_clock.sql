-- Which clock is in force.

-- Whether the services run on the test clock, by the one that started last; null until one has started. Commands such as `laurel apply` go by it.
alter table account add column test_clock boolean;
