-- Which provider a user's last run of a job called: a number made of its address. Half of the runs that a
-- server has of a job call the same one, at most.
ALTER TABLE job_queue ADD COLUMN endpoint bigint;
CREATE INDEX job_queue_lease_idx ON job_queue (lease) WHERE lease IS NOT NULL;
