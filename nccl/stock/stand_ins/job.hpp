// A job as the player reads it: a line each for hosts, limits, calls, and what is done to communicators
// (nccl/stock/job.py writes them).
#pragma once

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace hocket::player {

struct Call {
  std::string kind, comm;
  size_t bytes = 0;
  std::string type, operation;
  int root = 0;
  bool in_place = false;
  size_t offset = 0;  // into the ranks' buffers: calls of a group have parts of their own
};

/** A line of the job: a group of calls, or something done to communicators. */
struct Step {
  std::string verb;  // calls, split, abort, destroy
  std::vector<Call> calls;
  std::string made, parent;
  std::vector<int> colors;
};

struct Job {
  std::vector<int> ranks_of_host;
  int limit_s = 60;
  std::string mode = "enqueue";  // choose: NCCL only says what it would take; move: data are checked
  size_t most_bytes = 0;
  std::vector<Step> steps;
};

/** The job of a file. Throws std::runtime_error, with the line, for what it cannot read. */
inline Job read_job(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  Job job;
  int left_in_group = 0;
  for (std::string text; std::getline(file, text);) {
    std::stringstream line(text);
    std::string verb;
    line >> verb;
    if (verb == "hosts") {
      for (int ranks; line >> ranks;) job.ranks_of_host.push_back(ranks);
    } else if (verb == "limit_s") {
      line >> job.limit_s;
    } else if (verb == "mode") {
      line >> job.mode;
    } else if (verb == "group") {
      line >> left_in_group;
      job.steps.push_back({"calls", {}, "", "", {}});
    } else if (verb == "call") {
      Call call;
      line >> call.kind >> call.comm >> call.bytes >> call.type >> call.operation >> call.root >> call.in_place;
      if (left_in_group == 0) job.steps.push_back({"calls", {}, "", "", {}});
      auto& beside = job.steps.back().calls;
      if (!beside.empty()) call.offset = (beside.back().offset + beside.back().bytes + 4095) / 4096 * 4096;
      job.most_bytes = std::max(job.most_bytes, call.offset + call.bytes);
      beside.push_back(call);
      left_in_group = std::max(0, left_in_group - 1);
    } else if (verb == "split") {
      Step step{verb, {}, "", "", {}};
      line >> step.made >> step.parent;
      for (int color; line >> color;) step.colors.push_back(color);
      job.steps.push_back(step);
    } else if (verb == "abort" || verb == "destroy") {
      Step step{verb, {}, "", "", {}};
      line >> step.made;
      job.steps.push_back(step);
    } else if (!verb.empty()) {
      throw std::runtime_error("line of the job not understood: " + text);
    }
  }
  return job;
}

}  // namespace hocket::player
