#include "max_min.hpp"

#include <algorithm>

#include "hocket/error.hpp"

namespace hocket::simulator {

// By whole parts, and where these are equal by what is left of both, turned around: Euclid's algorithm. Links without
// anything left are the smallest in any order, for `fill_lowest` refuses them.
bool Rate::is_below(Rate a, Rate b) {
  if (a.among == 0 || b.among == 0) return false;
  if (a.units < 0 || b.units < 0) return a.units < b.units;
  for (;;) {
    const Units whole_a = a.units / a.among, whole_b = b.units / b.among;
    if (whole_a != whole_b) return whole_a < whole_b;
    const auto left_a = static_cast<int64_t>(a.units % a.among), left_b = static_cast<int64_t>(b.units % b.among);
    if (left_a == 0 || left_b == 0) return left_a < left_b;
    const Rate turned_a{a.among, left_a};
    a = {b.among, left_b};
    b = turned_a;
  }
}

MaxMin::MaxMin(std::span<const Bandwidth> capacity) : capacity_(capacity.begin(), capacity.end()) {
  for (const Bandwidth bandwidth : capacity) links_.push_back({.left = static_cast<Units>(bandwidth) * kUnitsPerByte});
}

// `slots` make removal O(links of the flow): the last entry of a link's list takes the place of the one that goes.
void MaxMin::add(uint32_t id, std::span<const int32_t> links, int64_t weight, int64_t alike) {
  if (id >= flows_.size()) flows_.resize(id + 1);
  Flow& flow = flows_[id];
  flow.links = links;
  flow.slots.resize(links.size());
  flow.weight = weight;
  flow.alike = alike;
  flow.rate = {};
  flow.taken = 0;
  for (uint32_t hop = 0; hop < links.size(); hop++) {
    std::vector<Entry>& flows = links_[links[hop]].flows;
    flow.slots[hop] = static_cast<uint32_t>(flows.size());
    flows.push_back({id, hop});
    touched_.push_back(links[hop]);
  }
  added_.push_back(id);
}

// Rates of others are found anew by the next `update` only, once for all that changes at an instant.
void MaxMin::remove(uint32_t id) {
  const Flow& flow = flows_[id];
  for (size_t hop = 0; hop < flow.links.size(); hop++) {
    Link& link = links_[flow.links[hop]];
    const Entry last = link.flows.back();
    link.flows[flow.slots[hop]] = last;
    flows_[last.flow].slots[last.hop] = flow.slots[hop];
    link.flows.pop_back();
    link.left += flow.taken;
    touched_.push_back(flow.links[hop]);
  }
}

// Invariant of the loop: filled flows have their rate and are never freed again in this update; each round either frees
// settled flows or fills at least one link's, so it ends.
const std::vector<uint32_t>& MaxMin::update() {
  changed_.clear();
  for (const int32_t link : touched_) release(link);
  touched_.clear();
  for (const uint32_t flow : added_) {
    if (!fill_alone(flow)) free(flow);
  }
  added_.clear();
  while (find_lowest()) {
    if (!free_richer()) fill_lowest();
  }
  for (const uint32_t flow : freed_) flows_[flow].state = State::kSettled;
  freed_.clear();
  return changed_;
}

/// Fills a new flow whose links carry nobody else; false when they do.
/// The common case of a job whose messages do not meet: no heap.
bool MaxMin::fill_alone(uint32_t id) {
  Flow& flow = flows_[id];
  if (flow.alike > 1) return false;
  Bandwidth narrowest = capacity_[flow.links.front()];
  for (const int32_t link : flow.links) {
    if (links_[link].flows.size() > 1) return false;
    narrowest = std::min(narrowest, capacity_[link]);
  }
  flow.taken = static_cast<Units>(narrowest) * kUnitsPerByte;
  flow.rate = {flow.taken, flow.weight};
  for (const int32_t link : flow.links) {
    links_[link].left -= flow.taken;
    if (capacity_[link] == narrowest) links_[link].level = flow.rate;
  }
  changed_.push_back(id);
  return true;
}

/// Has the link's share looked at again.
void MaxMin::reconsider(int32_t link) {
  if (links_[link].reconsider) return;
  links_[link].reconsider = true;
  reconsider_.push_back(link);
}

/// A flow takes part in this update: it gives back what it has.
void MaxMin::free(uint32_t id) {
  Flow& flow = flows_[id];
  flow.state = State::kFilling;
  freed_.push_back(id);
  for (const int32_t link : flow.links) {
    links_[link].left += flow.taken;
    links_[link].filling += flow.weight * flow.alike;
    reconsider(link);
  }
}

/// A link's load has changed: it holds nobody until it fills up again.
void MaxMin::release(int32_t id) {
  Link& link = links_[id];
  if (link.level.among == 0) return;
  for (const Entry& entry : link.flows) {
    const Flow& flow = flows_[entry.flow];
    if (flow.state == State::kSettled && flow.rate == link.level) free(entry.flow);
  }
  link.level = {};
}

/// Brings the heap up to date where shares have become smaller; larger ones are found on top.
/// A lazy heap: entries are never changed in place. `queued` tells which entry of a link is the true one; others are
/// dropped when they come up.
void MaxMin::queue_shares() {
  for (const int32_t id : reconsider_) {
    Link& link = links_[id];
    link.reconsider = false;
    if (link.filling == 0 || (link.queued.among != 0 && !(link.share() < link.queued))) continue;
    link.queued = link.share();
    heap_.push_back({link.queued, id});
    std::ranges::push_heap(heap_, [](const Share& a, const Share& b) { return b.rate < a.rate; });
  }
  reconsider_.clear();
}

/// Collects the links with the smallest share; false when no flow is left to fill.
bool MaxMin::find_lowest() {
  queue_shares();
  const auto later = [](const Share& a, const Share& b) { return b.rate < a.rate; };
  for (const int32_t link : lowest_) links_[link].lowest = false;
  lowest_.clear();
  while (!heap_.empty()) {
    // All links with exactly the same share are taken together.
    const Share top = heap_.front();
    if (!lowest_.empty() && links_[lowest_.front()].share() < top.rate) break;
    std::ranges::pop_heap(heap_, later);
    heap_.pop_back();
    Link& link = links_[top.link];
    if (link.queued.among == 0 || !(link.queued == top.rate)) continue;  // a smaller share was queued since
    link.queued = {};
    if (link.filling == 0) continue;
    // Its share has grown since: back with the true one.
    if (top.rate < link.share()) {
      link.queued = link.share();
      heap_.push_back({link.queued, top.link});
      std::ranges::push_heap(heap_, later);
      continue;
    }
    link.lowest = true;
    lowest_.push_back(top.link);
  }
  return !lowest_.empty();
}

/// Frees the settled flows that keep the links with the smallest share from giving all their flows as much: those that
/// have more, and those that these links held before. False when there are none.
/// What makes the repair right: a settled flow that has more than the smallest share of a link it crosses cannot stay
/// as it is, nor can one that the link held at another level. When there is none, the filled flows and the settled ones
/// together are max-min fair on these links.
bool MaxMin::free_richer() {
  const size_t before = freed_.size();
  const Rate share = links_[lowest_.front()].share();
  for (const int32_t id : lowest_) {
    const Link& link = links_[id];
    const bool held_at_another = link.level.among != 0 && !(link.level == share);
    for (const Entry& entry : link.flows) {
      const Flow& flow = flows_[entry.flow];
      if (flow.state != State::kSettled) continue;
      if (share < flow.rate || (held_at_another && flow.rate == link.level)) free(entry.flow);
    }
  }
  if (freed_.size() == before) return false;
  for (const int32_t id : lowest_) reconsider(id);
  return true;
}

/// The links with the smallest share give it to the flows they hold.
void MaxMin::fill_lowest() {
  const Rate share = links_[lowest_.front()].share();
  if (share.units <= 0) throw Infeasible("a link has too many flows for its bandwidth: less than 1.4e-6 byte/s each");
  // Divisions are slow, and most flows of a link weigh the same.
  int64_t weight = 0;
  Units taken = 0;
  filled_.clear();
  for (const int32_t id : lowest_) {
    links_[id].level = share;
    for (const Entry& entry : links_[id].flows) {
      Flow& flow = flows_[entry.flow];
      if (flow.state != State::kFilling) continue;
      flow.state = State::kFilled;
      if (flow.weight != weight) {
        weight = flow.weight;
        taken = (share.units * weight + share.among - 1) / share.among;
      }
      flow.taken = taken * flow.alike;
      filled_.push_back(entry.flow);
    }
  }
  for (const uint32_t id : filled_) {
    const Flow& flow = flows_[id];
    for (const int32_t link : flow.links) {
      links_[link].left -= flow.taken;
      links_[link].filling -= flow.weight * flow.alike;
    }
  }
  for (const uint32_t id : filled_) {
    Flow& flow = flows_[id];
    if (flow.rate == share) continue;
    flow.rate = share;
    changed_.push_back(id);
    for (const int32_t link : flow.links) {
      // This flow's rate is another than before: whatever that link held at its old level has to be filled anew.
      if (!links_[link].lowest) release(link);
    }
  }
}

}  // namespace hocket::simulator
