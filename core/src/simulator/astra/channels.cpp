#include "channels.hpp"

#include <utility>

namespace hocket::simulator::astra {

uint32_t& Channels::bucket_of(const ChannelKey& key) {
  uint64_t hash = key.tag;
  for (const uint64_t part :
       {static_cast<uint64_t>(key.src), static_cast<uint64_t>(key.dst), static_cast<uint64_t>(key.bytes)}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return buckets_[hash & (buckets_.size() - 1)];
}

// One table for all tags, sizes and pairs, chained through the records: the peer keeps a map entry for each message,
// with its number in the key; here the numbers are implied by the order.
uint32_t Channels::open(const ChannelKey& key) {
  for (uint32_t at = bucket_of(key); at != kNone; at = channels_[at].next) {
    if (channels_[at].key == key) {
      channels_[at].holders++;
      return at;
    }
  }
  if (++num_channels_ > buckets_.size()) grow();
  Channel channel;
  channel.key = key;
  channel.time = links_.time(key.src, key.dst, key.bytes);
  channel.holders = 1;
  uint32_t& bucket = bucket_of(key);
  channel.next = bucket;
  return bucket = channels_.add(channel);
}

void Channels::close(uint32_t channel) {
  channels_[channel].holders--;
  free_if_idle(channel);
}

void Channels::send(uint32_t channel, const Callback& sent) {
  Channel& used = channels_[channel];
  used.in_flight++;
  used.messages++;
  links_.send(messages_.add({channel, sent}), used.key.src, used.key.dst, used.time);
}

void Channels::receive(uint32_t channel, const Callback& received) {
  Channel& used = channels_[channel];
  if (used.arrived > 0) {
    used.arrived--;
    clock_.defer(received);
  } else {
    used.receives.push(receives_, receives_.add({received, kNone}));
  }
}

void Channels::free_if_idle(uint32_t channel) {
  const Channel& used = channels_[channel];
  if (used.holders > 0 || used.in_flight > 0 || used.arrived > 0 || !used.receives.empty()) return;
  // Counted when the channel goes, so that a message costs one addition.
  links_.count(used.key.src, used.key.dst, used.key.bytes, used.messages, used.time);
  uint32_t* link = &bucket_of(used.key);
  while (*link != channel) link = &channels_[*link].next;
  *link = used.next;
  channels_.take(channel);
  num_channels_--;
}

void Channels::grow() {
  const std::vector<uint32_t> old = std::exchange(buckets_, std::vector<uint32_t>(buckets_.size() * 4, kNone));
  for (const uint32_t first : old) {
    for (uint32_t at = first; at != kNone;) {
      const uint32_t next = channels_[at].next;
      uint32_t& bucket = bucket_of(channels_[at].key);
      channels_[at].next = bucket;
      bucket = at;
      at = next;
    }
  }
}

}  // namespace hocket::simulator::astra
