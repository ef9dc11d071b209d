#include "hocket/executor/workspace.hpp"

#include <utility>

namespace hocket::executor {
namespace {

constexpr int64_t kKeptBytes = 64 << 20;
constexpr size_t kKeptPieces = 64;

}  // namespace

std::byte* Workspace::take(int64_t bytes) {
  if (taken_ == slabs_.size()) slabs_.emplace_back();
  Slab& slab = slabs_[taken_++];
  if (slab.bytes < bytes) {
    slab.data.reset();  // before the new one is there: both together would be the peak
    slab = {bytes, std::unique_ptr<std::byte[]>(new std::byte[bytes])};
  }
  return slab.data.get();
}

Workspace::Piece Workspace::take_piece() {
  if (pieces_.empty()) return Piece(new std::byte[kPieceBytes]);
  Piece piece = std::move(pieces_.back());
  pieces_.pop_back();
  return piece;
}

void Workspace::end() {
  taken_ = 0;
  int64_t kept = 0;
  for (Slab& slab : slabs_) {
    // The first ones of a call are kept, which the next call of its kind asks for first.
    if (kept + slab.bytes > kKeptBytes) slab = {};
    kept += slab.bytes;
  }
  if (pieces_.size() > kKeptPieces) pieces_.resize(kKeptPieces);
}

}  // namespace hocket::executor
