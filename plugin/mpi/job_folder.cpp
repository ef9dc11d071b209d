#include "job_folder.hpp"

#include <time.h>

#include <array>
#include <cctype>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>
#include <system_error>

#include "mpi_library.hpp"

namespace hocket::mpi {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestPart = 40;
constexpr int kMostAlike = 1000;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// What names of files may have everywhere.
std::string safe(const std::string& text) {
  std::string name;
  for (const char letter : text.substr(0, kLongestPart)) {
    const bool is_safe = std::isalnum(static_cast<unsigned char>(letter)) != 0 || std::strchr("_.-", letter) != nullptr;
    name += is_safe && letter != '\0' ? letter : '_';
  }
  name.erase(0, name.find_first_not_of("._-"));
  return name;
}

/// The scheduler's number of the job.
std::string scheduled_as() {
  const std::string task = variable("SLURM_ARRAY_TASK_ID");
  if (!task.empty()) return variable("SLURM_ARRAY_JOB_ID") + "_" + task;
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"}) {
    if (const std::string number = variable(name); !number.empty()) return number;
  }
  return "";
}

std::string new_name(const std::string& script) {
  const std::string stem = safe(fs::path(script).stem());
  const time_t now = time(nullptr);
  tm utc;
  std::array<char, 32> begun;
  strftime(begun.data(), begun.size(), "-%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
  const std::string number = safe(scheduled_as());
  // Keeps apart what begins in one second, in folders that are not shared too.
  std::array<char, 16> digits;
  std::snprintf(digits.data(), digits.size(), "-%06x", std::random_device()() & 0xffffff);
  return (stem.empty() ? "job" : stem) + begun.data() + (number.empty() ? "" : "-" + number) + digits.data();
}

/// Lets `latest` lead to a job's folder, at once for all who look.
void lead_to(const fs::path& job) {
  const fs::path temporary = job.parent_path() / ("." + job.filename().string() + ".latest");
  std::error_code error;
  fs::create_symlink(job.filename(), temporary, error);
  if (error) std::ofstream(temporary) << job.filename().string() << '\n';  // a file system without links
  fs::rename(temporary, job.parent_path() / "latest", error);
  if (error) {
    std::fprintf(stderr, "hocket: %s: cannot lead to %s: %s: name the job's own folder to read it\n",
                 (job.parent_path() / "latest").c_str(), job.filename().c_str(), error.message().c_str());
  }
}

/// The name of a folder that no other job has; "" where none can be made.
std::string claim(const fs::path& root, const std::string& script) {
  const std::string given = variable("HOCKET_COLLECT_JOB");
  const std::string name = given.empty() ? new_name(script) : given;
  try {
    for (int number = 1; number < kMostAlike; ++number) {
      const fs::path job = root / (number == 1 ? name : name + "-" + std::to_string(number));
      fs::create_directories(job);
      if (!fs::create_directory(job / "stream")) continue;  // another's
      lead_to(job);
      return job.filename();
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hocket: %s\n", error.what());
  }
  return "";
}

}  // namespace

fs::path job_folder(const fs::path& root, const std::string& script) {
  int rank = 0;
  HOCKET_REAL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
  std::array<char, NAME_MAX + 1> name{};
  if (rank == 0) claim(root, script).copy(name.data(), name.size() - 1);
  HOCKET_REAL(MPI_Bcast)(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  if (name[0] == '\0') throw std::runtime_error(root.string() + ": cannot collect into this folder");
  const fs::path job = root / name.data();
  fs::create_directories(root);
  if (fs::create_directory(job)) lead_to(job);  // this machine has a folder of its own
  fs::create_directories(job / "stream");
  return job;
}

}  // namespace hocket::mpi
