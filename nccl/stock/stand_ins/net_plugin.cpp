// A network of NCCL's plugin interface, version 10, over this machine's loopback: as many NICs as the topology file
// has, under their names, so that NCCL finds them where the file has them. HOCKET_NICS: name,Mb/s,latency_us;...
#include "net_plugin.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <sstream>
#include <string>
#include <vector>

namespace hocket::net {
namespace {

struct Interface {
  const char* name;
  Result (*init)(void* log, void* profiler);
  Result (*devices)(int* count);
  Result (*get_properties)(int device, Properties* properties);
  Result (*listen)(int device, void* handle, void** listening);
  Result (*connect)(int device, void* config, void* handle, void** sending, void** device_handle);
  Result (*accept)(void* listening, void** receiving, void** device_handle);
  Result (*register_memory)(void* connection, void* data, size_t bytes, int type, void** memory);
  Result (*register_dma)(void* connection, void* data, size_t bytes, int type, uint64_t offset, int file,
                         void** memory);
  Result (*deregister)(void* connection, void* memory);
  Result (*send)(void* sending, void* data, size_t bytes, int tag, void* memory, void* profile, void** request);
  Result (*receive)(void* receiving, int count, void** data, size_t* bytes, int* tags, void** memory, void** profile,
                    void** request);
  Result (*flush)(void* receiving, int count, void** data, int* bytes, void** memory, void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*close_send)(void* sending);
  Result (*close_receive)(void* receiving);
  Result (*close_listen)(void* listening);
  Result (*device_memory)(void*, void*, void**);
  Result (*receive_consumed)(void*, int, void*);
  Result (*make_virtual)(int* device, VirtualDevice* wanted);
};

struct Nic {
  std::string name;
  int speed_mbps;
  float latency_us;
};

const std::vector<Nic>& nics() {
  static const auto* all = [] {
    auto* found = new std::vector<Nic>;
    const char* text = getenv("HOCKET_NICS");
    std::stringstream list(text ? text : "");
    for (std::string item; std::getline(list, item, ';');) {
      std::stringstream parts(item);
      Nic nic{};
      std::string speed, latency;
      std::getline(parts, nic.name, ',');
      std::getline(parts, speed, ',');
      std::getline(parts, latency, ',');
      nic.speed_mbps = atoi(speed.c_str());
      nic.latency_us = strtof(latency.c_str(), nullptr);
      found->push_back(nic);
    }
    return found;
  }();
  return *all;
}

/** A message under way: its head is 8 bytes, how long it is. Sends and receives pass in the order they were asked. */
struct Request {
  bool sends;
  char* data;
  size_t bytes;
  size_t moved = 0;  // of head and data
  uint64_t head = 0;
  bool done = false;
};
struct Connection {
  int socket;
  std::deque<Request*> waiting;
};
struct Listening {
  int socket;
};

/** Where to connect: an address of the abstract name space, which needs no file. */
struct Handle {
  char name[64];
};

sockaddr_un address_of(const char* name, socklen_t* length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path + 1, name, strlen(name));
  *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + strlen(name));
  return address;
}

Result init(void*, void*) { return kSuccess; }
}  // namespace

Result devices(int* count) {
  *count = static_cast<int>(nics().size());
  return kSuccess;
}
Result get_properties(int device, Properties* properties) {
  memset(properties, 0, sizeof *properties);
  const Nic& nic = nics()[device];
  properties->name = const_cast<char*>(nic.name.c_str());
  properties->guid = static_cast<uint64_t>(device) + 1;
  properties->pointer_support = kPointerHost | kPointerCuda;
  properties->registers_globally = 1;
  properties->speed_mbps = nic.speed_mbps;
  properties->port = 1;
  properties->latency_us = nic.latency_us;
  properties->most_connections = 1 << 18;
  properties->most_receives = 1;
  properties->virtual_device = {1, {device, 0, 0, 0}};
  properties->most_p2p_bytes = properties->most_collective_bytes = size_t{1} << 40;
  return kSuccess;
}

namespace {

Result listen_at(int device, void* handle, void** listening) {
  static int count = 0;
  auto* named = static_cast<Handle*>(handle);
  snprintf(named->name, sizeof named->name, "hocket-%d-%d-%d", getpid(), device, __sync_add_and_fetch(&count, 1));
  int made = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  socklen_t length;
  sockaddr_un address = address_of(named->name, &length);
  if (made < 0 || bind(made, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(made, 64) != 0)
    return kSystemError;
  *listening = new Listening{made};
  return kSuccess;
}
Result connect_to(int, void*, void* handle, void** sending, void** device_handle) {
  int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t length;
  sockaddr_un address = address_of(static_cast<Handle*>(handle)->name, &length);
  if (made < 0) return kSystemError;
  if (connect(made, reinterpret_cast<sockaddr*>(&address), length) != 0) {
    close(made);
    return errno == EAGAIN ? kSuccess : kSystemError;  // its queue is full: NCCL asks again
  }
  fcntl(made, F_SETFL, O_NONBLOCK);
  *sending = new Connection{made, {}};
  if (device_handle) *device_handle = nullptr;
  return kSuccess;
}
Result accept_one(void* listening, void** receiving, void** device_handle) {
  int made = accept4(static_cast<Listening*>(listening)->socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (made < 0) return errno == EAGAIN ? kSuccess : kSystemError;
  *receiving = new Connection{made, {}};
  if (device_handle) *device_handle = nullptr;
  return kSuccess;
}
Result register_memory(void*, void*, size_t, int, void** memory) {
  *memory = reinterpret_cast<void*>(1);
  return kSuccess;
}
Result register_dma(void*, void*, size_t, int, uint64_t, int, void** memory) {
  *memory = reinterpret_cast<void*>(1);
  return kSuccess;
}
Result deregister(void*, void*) { return kSuccess; }

/** Moves what the socket takes or gives now: 1 done, 0 not yet, -1 the other side is gone. */
int move_bytes(int socket, Request& request, char* part, size_t from, size_t size) {
  while (request.moved < from + size) {
    char* at = part + (request.moved - from);
    size_t left = from + size - request.moved;
    ssize_t done = request.sends ? send(socket, at, left, MSG_NOSIGNAL) : recv(socket, at, left, 0);
    if (done <= 0) return done < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    request.moved += static_cast<size_t>(done);
  }
  return 1;
}

Result progress(Connection& connection) {
  while (!connection.waiting.empty()) {
    Request& request = *connection.waiting.front();
    int moved = move_bytes(connection.socket, request, reinterpret_cast<char*>(&request.head), 0, sizeof request.head);
    if (moved == 1 && request.head > request.bytes && !request.sends) {
      fprintf(stderr, "hocket: a message of %llu bytes came for a buffer of %zu\n",
              static_cast<unsigned long long>(request.head), request.bytes);
      return kInternalError;
    }
    if (moved == 1) moved = move_bytes(connection.socket, request, request.data, sizeof request.head, request.head);
    if (moved < 0) return kSystemError;
    if (moved == 0) return kSuccess;
    request.done = true;
    connection.waiting.pop_front();
  }
  return kSuccess;
}

struct Asked {
  Connection* connection;
  Request request;
};

Result ask(Connection* connection, bool sends, void* data, size_t bytes, void** request) {
  auto* asked = new Asked{connection, {sends, static_cast<char*>(data), bytes, 0, sends ? bytes : 0, false}};
  connection->waiting.push_back(&asked->request);
  *request = asked;
  return progress(*connection);
}
Result send_message(void* sending, void* data, size_t bytes, int, void*, void*, void** request) {
  return ask(static_cast<Connection*>(sending), true, data, bytes, request);
}
Result receive_message(void* receiving, int count, void** data, size_t* bytes, int*, void**, void**, void** request) {
  if (count != 1) return kInternalError;
  return ask(static_cast<Connection*>(receiving), false, data[0], bytes[0], request);
}
Result flush(void*, int, void**, int*, void**, void** request) {
  *request = nullptr;  // what was received lies in memory already
  return kSuccess;
}
Result test(void* request, int* done, int* bytes) {
  auto* asked = static_cast<Asked*>(request);
  *done = 0;
  Result result = progress(*asked->connection);
  if (result != kSuccess || !asked->request.done) return result;
  *done = 1;
  if (bytes) bytes[0] = static_cast<int>(asked->request.head);
  delete asked;
  return kSuccess;
}
Result close_connection(void* connection) {
  close(static_cast<Connection*>(connection)->socket);
  delete static_cast<Connection*>(connection);
  return kSuccess;
}
Result close_listen(void* listening) {
  close(static_cast<Listening*>(listening)->socket);
  delete static_cast<Listening*>(listening);
  return kSuccess;
}

}  // namespace
}  // namespace hocket::net

using namespace hocket::net;

extern "C" __attribute__((visibility("default"))) const Interface ncclNetPlugin_v10 = {
    "hocket",     init,       devices,      get_properties,  listen_at, connect_to, accept_one,       register_memory,
    register_dma, deregister, send_message, receive_message, flush,     test,       close_connection, close_connection,
    close_listen, nullptr,    nullptr,      nullptr};
