// Plays NCCL's calls on the net plugin: messages in order, of every length, and one that is too long for its buffer.
#include <cassert>

#include "net_plugin.cpp"

int main() {
  const Interface& net = ncclNetPlugin_v10;
  int count = 0;
  assert(net.init(nullptr, nullptr) == kSuccess && net.devices(&count) == kSuccess && count == 2);
  Properties properties;
  assert(net.get_properties(1, &properties) == kSuccess && std::string(properties.name) == "mlx5_1");
  assert(properties.speed_mbps == 400000 && properties.latency_us == 35.0F);
  char handle[128] = {};
  void *listening = nullptr, *sending = nullptr, *receiving = nullptr;
  assert(net.listen(0, handle, &listening) == kSuccess);
  assert(net.accept(listening, &receiving, nullptr) == kSuccess && receiving == nullptr);  // nobody yet
  while (!sending) assert(net.connect(0, nullptr, handle, &sending, nullptr) == kSuccess);
  while (!receiving) assert(net.accept(listening, &receiving, nullptr) == kSuccess);
  const size_t lengths[] = {0, 1, 4096, size_t{3} << 20, 17};
  std::vector<std::vector<char>> sent, got;
  std::vector<void*> sends, receives;
  for (size_t length : lengths) {
    sent.emplace_back(length, static_cast<char>(length % 251 + 1));
    got.emplace_back(length + 100, 0);
  }
  for (size_t i = 0; i < sent.size(); i++) {
    void *request = nullptr, *data = got[i].data();
    size_t room = got[i].size();
    assert(net.send(sending, sent[i].data(), sent[i].size(), 0, nullptr, nullptr, &request) == kSuccess);
    sends.push_back(request);
    assert(net.receive(receiving, 1, &data, &room, nullptr, nullptr, nullptr, &request) == kSuccess);
    receives.push_back(request);
  }
  std::vector<bool> ended(sends.size() * 2, false);
  for (bool all = false; !all;) {
    all = true;
    for (size_t i = 0; i < ended.size(); i++) {
      if (ended[i]) continue;
      int done = 0, bytes = -1;
      size_t k = i / 2;
      assert(net.test(i % 2 ? receives[k] : sends[k], &done, &bytes) == kSuccess);
      ended[i] = done;
      all = all && done;
      if (done) assert(bytes == static_cast<int>(lengths[k]));
    }
  }
  for (size_t i = 1; i < sent.size(); i++) assert(memcmp(sent[i].data(), got[i].data(), sent[i].size()) == 0);
  void *request = nullptr, *small = got[0].data();
  size_t room = 8;
  assert(net.send(sending, sent[2].data(), sent[2].size(), 0, nullptr, nullptr, &request) == kSuccess);
  void* refused = nullptr;
  Result result = net.receive(receiving, 1, &small, &room, nullptr, nullptr, nullptr, &refused);
  int done = 0;
  while (result == kSuccess && !done) result = net.test(refused, &done, nullptr);
  assert(result == kInternalError);
  delete static_cast<Asked*>(refused);
  while (!done) assert(net.test(request, &done, nullptr) == kSuccess);
  assert(net.close_send(sending) == kSuccess && net.close_receive(receiving) == kSuccess);
  assert(net.close_listen(listening) == kSuccess);
  puts("passed");
}
