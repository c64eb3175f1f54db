//! How long a job will take on a worker.
