#pragma once

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <chrono>

#include "memory.hpp"

namespace late {

/// Streams and events as PyTorch's own code asks for them. Not all of these functions are PyTorch 2.4's, so that none
/// of those says `override`.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kLate; }
  c10::Device exchangeDevice(c10::Device) const override { return {kLate, 0}; }
  c10::Device getDevice() const override { return {kLate, 0}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  static c10::Stream stream(c10::StreamId id) { return c10::Stream(c10::Stream::UNSAFE, {kLate, 0}, id); }

  c10::Stream getStream(c10::Device) const noexcept override { return stream(current()); }
  c10::Stream exchangeStream(c10::Stream next) const noexcept override {
    return stream(std::exchange(current(), next.id()));
  }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(0); }
  c10::Stream getNewStream(c10::Device, int = 0) const { return stream(Streams::get().add()); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool = false) const override {
    return stream(Streams::get().from_pool());
  }
  bool queryStream(const c10::Stream& asked) const override { return Streams::get().at(asked.id()).is_idle(); }
  void synchronizeStream(const c10::Stream& asked) const override { Streams::get().at(asked.id()).synchronize(); }
  bool isStreamCapturing(const c10::Stream& asked) const { return Streams::get().at(asked.id()).capture() != nullptr; }
  void synchronizeDevice(const c10::DeviceIndex) const {
    for (std::size_t id = 0; id < Streams::get().size(); ++id) Streams::get().at(id).synchronize();
  }

  void record(void** event, const c10::Stream& on, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (*event == nullptr) *event = new Event;
    static_cast<Event*>(*event)->mark = Streams::get().at(on.id()).record();
  }
  void block(void* event, const c10::Stream& blocked) const override {
    if (event != nullptr) Streams::get().at(blocked.id()).wait_for(static_cast<Event*>(event)->mark);
  }
  bool queryEvent(void* event) const override {
    return event == nullptr || static_cast<Event*>(event)->mark->is_reached();
  }
  void synchronizeEvent(void* event) const {
    if (event != nullptr) static_cast<Event*>(event)->mark->wait();
  }
  double elapsedTime(void* begin, void* end, const c10::DeviceIndex) const {
    TORCH_CHECK(queryEvent(begin) && queryEvent(end), "both events must be complete before their time is asked");
    const auto from = static_cast<Event*>(begin)->mark->at(), to = static_cast<Event*>(end)->mark->at();
    return std::chrono::duration<double, std::milli>(to - from).count();
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { delete static_cast<Event*>(event); }

  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& on) const override {
    Memory::get().record(data.get(), on.id());
  }
};

/// What else PyTorch asks a device for.
struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const { return true; }
  bool isAvailable() const { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const { return 1; }
  c10::DeviceIndex getCurrentDevice() const { return 0; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const { return 0; }
};

}  // namespace late
