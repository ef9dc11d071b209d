#include <bit>

#include "algorithms.hpp"

namespace hocket::simulator::astra {
namespace {

/// Neighbours of a rank in one of the two trees, -1 where there is none.
struct TreeNode {
  int32_t parent = -1, left = -1, right = -1;
};

/// The two trees are mirror images, so that a leaf of one is an inner node of the other (Sanders, Speck, Traff 2009;
/// NCCL's ncclGetDtree); the peer's BinaryTree.cc needs a power of two of ranks. A root with one child, below which n -
/// 1 positions form a complete binary tree, numbered in order. In order, the node with number k (from 1) is as high
/// above the leaves as k has trailing zeros.
TreeNode tree_node(const LogicalRing& ring, bool root_is_last) {
  const int32_t n = ring.size;
  const int32_t first = root_is_last ? 0 : 1;  // position of number 1
  const int32_t root = root_is_last ? n - 1 : 0;
  const auto rank_of = [&](int32_t number) { return ring.rank_at(first + number - 1); };
  if (ring.position == root) return {-1, rank_of(n / 2), -1};
  const int32_t number = ring.position - first + 1;
  const int32_t bit = number & -number;
  TreeNode node;
  if (number == n / 2) {
    node.parent = ring.rank_at(root);
  } else {
    node.parent = rank_of(number & (bit << 1) ? number - bit : number + bit);
  }
  if (bit > 1) {
    node.left = rank_of(number - bit / 2);
    node.right = rank_of(number + bit / 2);
  }
  return node;
}

/// Sends what a rank knows up the tree, and the result down.
class TreePhase : public Phase {
 public:
  TreePhase(const TreeNode& node, int64_t bytes, const Endpoint& endpoint)
      : node_(node), bytes_(bytes), endpoint_(endpoint) {}

 protected:
  void send(int32_t to) {
    const uint32_t channel = endpoint_.open_to(to, bytes_);
    endpoint_.transport().send(channel, {});
    endpoint_.close(channel);
  }
  void receive(int32_t from) {
    const uint32_t channel = endpoint_.open_from(from, bytes_);
    endpoint_.transport().receive(channel, endpoint_.when_received());
    endpoint_.close(channel);
  }

  TreeNode node_;
  int64_t bytes_;
  Endpoint endpoint_;
};

class Leaf final : public TreePhase {
 public:
  using TreePhase::TreePhase;
  void start() override { endpoint_.process(bytes_, false); }
  void processed() override {
    if (is_answered_) return endpoint_.finish();
    send(node_.parent);
    receive(node_.parent);
  }
  void received() override {
    is_answered_ = true;
    endpoint_.process(bytes_, false);
  }

 private:
  bool is_answered_ = false;
};

/// The endpoint delay and the reduction are charged for what comes down as well, as the peer does.
class Inner final : public TreePhase {
 public:
  using TreePhase::TreePhase;
  void start() override {
    receive(node_.left);
    receive(node_.right);
  }
  void received() override { endpoint_.process(bytes_, true); }
  void processed() override {
    processed_++;
    if (processed_ == 2) {
      send(node_.parent);
      receive(node_.parent);
    } else if (processed_ == 3) {
      send(node_.left);
      send(node_.right);
      endpoint_.finish();
    }
  }

 private:
  int processed_ = 0;
};

class Root final : public TreePhase {
 public:
  using TreePhase::TreePhase;
  void start() override { receive(node_.left); }
  void received() override { endpoint_.process(bytes_, true); }
  void processed() override {
    send(node_.left);
    endpoint_.finish();
  }
};

}  // namespace

std::unique_ptr<Phase> make_double_binary_tree(const PhasePlan& plan, const Endpoint& endpoint) {
  const TreeNode node = tree_node(plan.ring, plan.root_is_last);
  if (node.parent < 0) return std::make_unique<Root>(node, plan.bytes, endpoint);
  if (node.left < 0) return std::make_unique<Leaf>(node, plan.bytes, endpoint);
  return std::make_unique<Inner>(node, plan.bytes, endpoint);
}

}  // namespace hocket::simulator::astra
