#pragma once

#include <cstdint>

/// Field numbers of chakra/et_def.proto.
namespace hocket::chakra::schema {

// As MLCommons' Chakra has them since schema 0.0.4; older schemas numbered otherwise and are told by their wire types.
enum NodeField : uint32_t {
  kNodeId = 1,
  kNodeName = 2,
  kNodeType = 3,
  kNodeCtrlDeps = 4,
  kNodeDataDeps = 5,
  kNodeStartMicros = 6,
  kNodeDurationMicros = 7,
  kNodeInputs = 8,
  kNodeOutputs = 9,
  kNodeAttr = 10,
};

enum AttributeField : uint32_t {
  kAttrName = 1,
  kAttrDocString = 2,
  kAttrInt32 = 7,
  kAttrInt64 = 9,
  kAttrUint32 = 11,
  kAttrUint64 = 13,
  kAttrSint32 = 15,
  kAttrSint64 = 17,
  kAttrFixed32 = 19,
  kAttrFixed64 = 21,
  kAttrSfixed32 = 23,
  kAttrSfixed64 = 25,
  kAttrBool = 27,
  kAttrBoolList = 28,
  kAttrString = 29,
};

}  // namespace hocket::chakra::schema
