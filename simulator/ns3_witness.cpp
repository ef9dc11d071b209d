// SPDX-License-Identifier: MIT
//
// Runs a graph of messages on ns-3's point-to-point devices and prints what came of it as JSON.
//
// A program of its own, compiled by Hocket where ns-3 is installed, and never a part of Hocket: they exchange a file
// and a text. It shares no code with Hocket's own network models. Ranks and switches are ns-3 nodes without a protocol
// stack; a link is a point-to-point channel with a DropTailQueue that never fills, so switches store and forward whole
// packets, first come, first served, and nothing is lost. Packets follow the links that the file names for them.
//
// The file is text (numbers, after words that say what comes):
//   hocket-ns3 1
//   packets PAYLOAD HEADER          bytes of a packet at most, and besides; 2 of the header are ns-3's own
//   nodes N
//   links N                         lines: from, to, bytes per second, picoseconds
//   steps N                         lines: kind, amount, place, needs, number of links, links
//   edges N                         lines: step, step that waits for it
// Kinds: 0 moment, 1 computation of a rank, 2 delay, 3 access to a memory, 4 transfer of bytes on a connection. A step
// begins when `needs` of the edges that lead to it have come.
#include <ns3/core-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace ns3;

namespace {

enum Kind { kMoment, kCompute, kDelay, kAccess, kTransfer };

struct Step {
  int kind = 0;
  int64_t amount = 0;
  uint32_t place = 0;
  int64_t needs = 0;
  std::vector<uint32_t> links;
  std::vector<uint32_t> next;
  int64_t start_ps = -1, end_ps = -1;
  int64_t sent = 0, received = 0;
};

/// What a rank has to send over a link: connections take turns packet by packet, messages of one follow one another.
struct Source {
  std::deque<uint32_t> turns;
  std::map<uint32_t, std::deque<uint32_t>> waiting;  // of each connection: its transfers
  bool sends = false;                                // whether the device is at a packet
};

struct LinkEnds {
  uint32_t from = 0, to = 0;
  uint64_t bytes_per_second = 0;
  int64_t latency_ps = 0;
  Ptr<PointToPointNetDevice> device;
  uint64_t packets = 0, bytes = 0;
  int64_t busy_ps = 0;
};

/// Names the transfer of a packet, and is as long as the header that Hocket counts.
class TransferHeader : public Header {
 public:
  uint32_t transfer = 0;
  static uint32_t size;

  static TypeId GetTypeId() {
    static TypeId id = TypeId("hocket::TransferHeader").SetParent<Header>().AddConstructor<TransferHeader>();
    return id;
  }
  TypeId GetInstanceTypeId() const override { return GetTypeId(); }
  uint32_t GetSerializedSize() const override { return size; }
  void Serialize(Buffer::Iterator at) const override {
    at.WriteU32(transfer);
    at.WriteU8(0, size - 4);
  }
  uint32_t Deserialize(Buffer::Iterator at) override {
    transfer = at.ReadU32();
    return size;
  }
  void Print(std::ostream& out) const override { out << transfer; }
};
uint32_t TransferHeader::size = 4;

constexpr uint32_t kOwnHeader = 2;  // of ns-3's point-to-point protocol
constexpr uint16_t kProtocol = 0x0800;

std::vector<Step> steps;
std::vector<LinkEnds> links;
std::map<uint32_t, Source> sources;            // of links at which transfers begin
std::map<uint32_t, std::set<uint32_t>> ready;  // of each rank: computations, in their order
std::set<uint32_t> computing;                  // ranks
std::map<uint32_t, int64_t> memory_free_ps;
std::vector<uint32_t> begun;  // transfers, accesses and ranks' computations of this instant
bool settles = false;
uint32_t payload_bytes = 0;
uint64_t packet_hops = 0;
Address broadcast;

int64_t now_ps() { return Simulator::Now().GetPicoSeconds(); }

void settle();
void finish(uint32_t step);

void settle_soon() {
  if (std::exchange(settles, true)) return;
  Simulator::ScheduleNow(&settle);
}

/// All that the step waits for has come.
void begin(uint32_t number, std::vector<uint32_t>& done) {
  Step& step = steps[number];
  step.start_ps = now_ps();
  switch (step.kind) {
    case kMoment:
      done.push_back(number);
      break;
    case kDelay:
      Simulator::Schedule(PicoSeconds(step.amount), &finish, number);
      break;
    default:
      begun.push_back(number);
      settle_soon();
  }
}

/// A step is done, with all the moments that follow at once.
void finish(uint32_t first) {
  std::vector<uint32_t> done{first};
  if (steps[first].kind == kCompute) {
    computing.erase(steps[first].place);
    settle_soon();
  }
  for (size_t at = 0; at < done.size(); at++) {
    Step& step = steps[done[at]];
    step.end_ps = now_ps();
    for (const uint32_t next : step.next) {
      if (--steps[next].needs == 0) begin(next, done);
    }
  }
}

void send(uint32_t link, Ptr<Packet> packet, uint32_t bytes) {
  LinkEnds& ends = links[link];
  packet_hops++;
  ends.packets++;
  ends.bytes += bytes;
  ends.busy_ps +=
      DataRate(ends.bytes_per_second * 8).CalculateBytesTxTime(packet->GetSize() + kOwnHeader).GetPicoSeconds();
  ends.device->Send(packet, broadcast, kProtocol);
}

/// A rank's device that is free sends the packet whose turn it is.
void pump(uint32_t link) {
  Source& source = sources[link];
  if (source.sends || source.turns.empty() || links[link].device->GetQueue()->GetNPackets() > 0) return;
  const uint32_t connection = source.turns.front();
  source.turns.pop_front();
  std::deque<uint32_t>& waiting = source.waiting[connection];
  const uint32_t number = waiting.front();
  Step& step = steps[number];
  const auto bytes = static_cast<uint32_t>(std::min<int64_t>(payload_bytes, step.amount - step.sent));
  step.sent += bytes;
  if (step.sent == step.amount) waiting.pop_front();
  if (waiting.empty()) {
    source.waiting.erase(connection);
  } else {
    source.turns.push_back(connection);
  }
  Ptr<Packet> packet = Create<Packet>(bytes);
  TransferHeader header;
  header.transfer = number;
  packet->AddHeader(header);
  send(link, packet, bytes);
}

void tx_begins(uint32_t link, Ptr<const Packet>) { sources[link].sends = true; }

/// Not at once: the device first looks into its own queue.
void tx_ends(uint32_t link, Ptr<const Packet>) {
  sources[link].sends = false;
  Simulator::ScheduleNow(&pump, link);
}

void enqueue(uint32_t number) {
  Step& step = steps[number];
  Source& source = sources[step.links.front()];
  std::deque<uint32_t>& waiting = source.waiting[step.place];
  if (waiting.empty()) source.turns.push_back(step.place);
  waiting.push_back(number);
}

void access_memory(Step& step, uint32_t number) {
  int64_t& free_ps = memory_free_ps[step.place];
  free_ps = std::max(free_ps, now_ps()) + step.amount;
  Simulator::Schedule(PicoSeconds(free_ps - now_ps()), &finish, number);
}

/// After all that happens at an instant: ranks begin to compute and to send, in the order of the steps.
void settle() {
  settles = false;
  std::vector<uint32_t> these;
  std::swap(these, begun);
  std::sort(these.begin(), these.end());
  for (const uint32_t number : these) {
    Step& step = steps[number];
    if (step.kind == kCompute) ready[step.place].insert(number);
    if (step.kind == kAccess) access_memory(step, number);
    if (step.kind != kTransfer) continue;
    if (step.links.empty()) {
      finish(number);
    } else {
      enqueue(number);
      pump(step.links.front());
    }
  }
  for (auto& [rank, waiting] : ready) {
    if (waiting.empty() || computing.count(rank) > 0) continue;
    const uint32_t number = *waiting.begin();
    waiting.erase(waiting.begin());
    computing.insert(rank);
    steps[number].start_ps = now_ps();
    Simulator::Schedule(PicoSeconds(steps[number].amount), &finish, number);
  }
}

/// A packet is at the far end of a link.
bool receive(uint32_t link, Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&) {
  TransferHeader header;
  packet->PeekHeader(header);
  Step& step = steps[header.transfer];
  const uint32_t bytes = packet->GetSize() - TransferHeader::size;
  const auto here = std::find(step.links.begin(), step.links.end(), link);
  if (here + 1 != step.links.end()) {
    send(*(here + 1), packet->Copy(), bytes);
    return true;
  }
  step.received += bytes;
  if (step.received == step.amount) finish(header.transfer);
  return true;
}

void expect(std::istream& in, const std::string& word) {
  std::string found;
  if (!(in >> found) || found != word) throw std::runtime_error("expected '" + word + "', found '" + found + "'");
}

size_t count(std::istream& in, const std::string& word) {
  size_t number = 0;
  expect(in, word);
  if (!(in >> number)) throw std::runtime_error(word + ": expected a number");
  return number;
}

size_t read(const std::string& path) {
  std::ifstream in(path);
  if (count(in, "hocket-ns3") != 1) throw std::runtime_error("a file of another version");
  payload_bytes = static_cast<uint32_t>(count(in, "packets"));
  uint32_t header = 0;
  if (!(in >> header) || header < 4 + kOwnHeader) throw std::runtime_error("a header has at least 6 bytes");
  TransferHeader::size = header - kOwnHeader;
  const size_t nodes = count(in, "nodes");
  links.resize(count(in, "links"));
  for (LinkEnds& link : links) in >> link.from >> link.to >> link.bytes_per_second >> link.latency_ps;
  steps.resize(count(in, "steps"));
  for (Step& step : steps) {
    size_t number = 0;
    in >> step.kind >> step.amount >> step.place >> step.needs >> number;
    step.links.resize(in ? number : 0);
    for (uint32_t& link : step.links) in >> link;
  }
  for (size_t left = count(in, "edges"); left > 0 && in; left--) {
    uint32_t from = 0, to = 0;
    in >> from >> to;
    steps.at(from).next.push_back(to);
  }
  if (!in) throw std::runtime_error("the file ends too early");
  return nodes;
}

/// Channels of the links that are used; each is of one direction, and its other one idle.
void build(size_t num_nodes) {
  NodeContainer nodes;
  nodes.Create(static_cast<uint32_t>(num_nodes));
  std::set<uint32_t> used;
  for (const Step& step : steps) {
    used.insert(step.links.begin(), step.links.end());
    if (!step.links.empty()) sources[step.links.front()];
  }
  for (const uint32_t number : used) {
    LinkEnds& link = links.at(number);
    Ptr<PointToPointChannel> channel = CreateObject<PointToPointChannel>();
    channel->SetAttribute("Delay", TimeValue(PicoSeconds(link.latency_ps)));
    const auto attach = [&](uint32_t node) {
      Ptr<PointToPointNetDevice> device = CreateObject<PointToPointNetDevice>();
      device->SetAddress(Mac48Address::Allocate());
      device->SetDataRate(DataRate(link.bytes_per_second * 8));
      nodes.Get(node)->AddDevice(device);
      Ptr<DropTailQueue<Packet>> queue = CreateObject<DropTailQueue<Packet>>();
      queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, 1'000'000'000));
      device->SetQueue(queue);
      device->SetMtu(static_cast<uint16_t>(payload_bytes + TransferHeader::size));
      device->Attach(channel);
      return device;
    };
    link.device = attach(link.from);
    attach(link.to)->SetReceiveCallback(MakeBoundCallback(&receive, number));
    if (sources.count(number) == 0) continue;
    link.device->TraceConnectWithoutContext("PhyTxBegin", MakeBoundCallback(&tx_begins, number));
    link.device->TraceConnectWithoutContext("PhyTxEnd", MakeBoundCallback(&tx_ends, number));
  }
}

void begin_all() {
  std::vector<uint32_t> first;
  for (uint32_t number = 0; number < steps.size(); number++) {
    if (steps[number].needs == 0) first.push_back(number);
  }
  for (const uint32_t number : first) {
    std::vector<uint32_t> done;
    begin(number, done);
    for (const uint32_t each : done) finish(each);
  }
}

template <class Rows, class Value>
void print(const char* name, const Rows& rows, Value value) {
  std::cout << ", \"" << name << "\": [";
  const char* separator = "";
  for (const auto& row : rows) {
    std::cout << separator << value(row);
    separator = ",";
  }
  std::cout << "]";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " FILE\n";
    return 2;
  }
  Time::SetResolution(Time::PS);
  broadcast = Mac48Address::GetBroadcast();
  try {
    build(read(argv[1]));
  } catch (const std::exception& error) {
    std::cerr << argv[1] << ": " << error.what() << "\n";
    return 3;
  }
  Simulator::ScheduleNow(&begin_all);
  Simulator::Run();
  std::cout << "{\"packet_hops\": " << packet_hops << ", \"events\": " << Simulator::GetEventCount();
  print("start_ps", steps, [](const Step& step) { return step.start_ps; });
  print("end_ps", steps, [](const Step& step) { return step.end_ps; });
  print("link_packets", links, [](const LinkEnds& link) { return link.packets; });
  print("link_bytes", links, [](const LinkEnds& link) { return link.bytes; });
  print("link_busy_ps", links, [](const LinkEnds& link) { return link.busy_ps; });
  std::cout << "}\n";
  Simulator::Destroy();
  return 0;
}
