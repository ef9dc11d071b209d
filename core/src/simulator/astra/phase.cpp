#include "phase.hpp"

#include "algorithms.hpp"
#include "engine.hpp"
#include "wire.hpp"

namespace hocket::simulator::astra {
Nanoseconds reduction(int64_t bytes, double bandwidth) {
  if (bandwidth == 0) return 0;
  // Each of the three is cut on its own, so the multiplication comes last.
  return 3 * whole_nanoseconds(static_cast<double>(bytes) / bandwidth * 1e9);
}

Transport& Endpoint::transport() const { return engine_->transport; }

uint32_t Endpoint::open_to(int32_t dst, int64_t bytes) const {
  return engine_->channels.open({tag_, rank_, dst, bytes});
}

uint32_t Endpoint::open_from(int32_t src, int64_t bytes) const {
  return engine_->channels.open({tag_, src, rank_, bytes});
}

void Endpoint::close(uint32_t channel) const { engine_->channels.close(channel); }

void Endpoint::send_tagged(uint32_t custom_node, uint32_t tag, int32_t dst, int64_t bytes) const {
  const uint32_t channel = engine_->channels.open({tag, rank_, dst, bytes});
  engine_->transport.send(channel, when_done(custom_node));
  engine_->channels.close(channel);
}

void Endpoint::receive_tagged(uint32_t custom_node, uint32_t tag, int32_t src, int64_t bytes) const {
  const uint32_t channel = engine_->channels.open({tag, src, rank_, bytes});
  engine_->transport.receive(channel, when_done(custom_node));
  engine_->channels.close(channel);
}

void Endpoint::compute(uint32_t custom_node, Nanoseconds delay) const {
  engine_->clock.after(rank_, delay, when_done(custom_node));
}

void Endpoint::process(int64_t bytes, bool reduces) const {
  const Nanoseconds delay = fixed_delay_ ? kFixedDelay : engine_->system.endpoint_delay;
  // Two events, not their sum: what else happens at the instant between them comes before the reduction.
  const Nanoseconds reducing = reduces ? reduction(bytes, engine_->system.local_memory_bandwidth) : -1;
  engine_->clock.after(rank_, delay, {Callback::kProcessed, stream_, reducing});
}

void Endpoint::pass(Nanoseconds delay) const {
  engine_->clock.after(rank_, delay, {Callback::kProcessed, stream_, -1});
}

void Endpoint::finish() const { engine_->streams.advance(stream_); }

std::unique_ptr<Phase> make_phase(const PhasePlan& plan, const Endpoint& endpoint) {
  if (plan.algorithm == Algorithm::kDoubleBinaryTree) return make_double_binary_tree(plan, endpoint);
  return make_exchange<Wire>(plan, endpoint);
}

}  // namespace hocket::simulator::astra
