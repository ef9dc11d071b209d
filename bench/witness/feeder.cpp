// Reads each trace that is named as ASTRA-sim's workload layer does, with its own feeder: issues what is ready, takes
// the attributes it needs of it, and frees what waits for it. Prints nodes and collectives of each, or why it is
// refused.
#include <exception>
#include <iostream>

#include "et_feeder.h"

namespace {

void read(const char* path) {
  Chakra::FeederV3::ETFeeder feeder(path);
  long nodes = 0, communication = 0;
  while (feeder.hasNodesToIssue()) {
    auto node = feeder.getNextIssuableNode();
    if (!node) throw std::runtime_error("nothing is ready, but nodes are left");
    node->is_cpu_op<bool>();
    const int type = node->type();
    if (type == ChakraProtoMsg::COMM_COLL_NODE) {
      node->comm_type<uint64_t>();
      node->pg_name<std::string>("0");
    }
    if (type == ChakraProtoMsg::COMM_SEND_NODE || type == ChakraProtoMsg::COMM_RECV_NODE) {
      node->comm_src<uint32_t>();
      node->comm_dst<uint32_t>();
      node->comm_tag<uint32_t>();
    }
    if (type >= ChakraProtoMsg::COMM_SEND_NODE) {
      node->comm_size<uint64_t>();
      ++communication;
    }
    ++nodes;
    feeder.freeChildrenNodes(node->id());
  }
  std::cout << path << "\t" << nodes << "\t" << communication << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  int refused = 0;
  for (int place = 1; place < argc; ++place) {
    try {
      read(argv[place]);
    } catch (const std::exception& error) {
      std::cout << argv[place] << "\trefused\t" << error.what() << std::endl;
      ++refused;
    }
  }
  return refused != 0;
}
