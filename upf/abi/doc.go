// Package abi mirrors upf_abi.h, the contract between upf-c and upf-u, in Go.
//
// Everything in zabi_linux.go is generated from the header by abigen (`make -C upf/abi
// generate`), names being those of the header without "upf_", in camel case: struct upf_urr_arm is
// UrrArm, UPF_PDR_UE_IP is PdrUeIp, its field ue_addr_be is UeAddrBe. The generator also writes
// check/zabi_check.c, with which a C compiler confirms the size and offset of every field.
package abi
