-- What a rebuild changed is measured by `keepsake eval --email` alone, which stores nothing. A measurement under way ends:
-- its questions are made of memories, and no server has its job.
DELETE FROM job_queue WHERE job = 'evaluate';
DELETE FROM job_settings WHERE job = 'evaluate';
DELETE FROM account_tables WHERE name IN ('evaluations', 'evaluation_requests', 'evaluation_questions');
DROP TABLE evaluation_questions, evaluation_requests, evaluations;
