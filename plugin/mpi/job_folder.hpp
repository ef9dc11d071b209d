/// The folder that a job records into.
#pragma once

#include <filesystem>
#include <string>

namespace hocket::mpi {

/// The job's folder in `root`, the same on all ranks of MPI_COMM_WORLD, which call this at once: rank 0 makes it, calls
/// it $HOCKET_COLLECT_JOB or after `script`, and lets `root/latest` lead to it, as recording/jobs.py does. Throws
/// std::runtime_error where it cannot be made.
std::filesystem::path job_folder(const std::filesystem::path& root, const std::string& script);

}  // namespace hocket::mpi
