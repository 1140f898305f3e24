package nodeagent

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/protobuf/encoding/protowire"
)

// The kubelet's podresources API, version 1, is a gRPC service on a socket of the node. Two of its calls are
// used, and their answers are read here field by field, by the numbers that Kubernetes' podresources/v1
// api.proto gives them; fields that are not named below are skipped. testdata holds answers that were
// encoded by Kubernetes' own code.

// Resources are what the kubelet can give to containers one by one, and what it has given.
type Resources struct {
	Allocatable Assets
	Held        []Assets
}

// Assets are CPUs, devices and memory.
type Assets struct {
	CPUs    []int
	Devices []Devices
	Memory  []Memory
}

// Devices of one resource of a device plugin.
type Devices struct {
	Resource string
	IDs      []string
}

// Memory of one kind, for example hugepages-2Mi, from one or several cells.
type Memory struct {
	Kind  string
	Bytes int64
	Cells []int
}

// PodResources says what the kubelet has and has given.
type PodResources interface {
	Resources(ctx context.Context) (Resources, error)
}

const (
	methodList        = "/v1.PodResourcesLister/List"
	methodAllocatable = "/v1.PodResourcesLister/GetAllocatableResources"
	// maxAnswer bounds an answer: a node of 250 pods with devices stays far below.
	maxAnswer = 16 << 20
)

// KubeletSocket is the podresources API at a socket.
type KubeletSocket struct {
	connection *grpc.ClientConn
}

// DialKubelet prepares calls; the socket need not be there yet.
func DialKubelet(path string) (*KubeletSocket, error) {
	connection, err := grpc.NewClient("unix://"+path,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(octets{}), grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return nil, fmt.Errorf("the kubelet's podresources socket %s: %w", path, err)
	}
	return &KubeletSocket{connection}, nil
}

// Close ends the connection.
func (k *KubeletSocket) Close() error { return k.connection.Close() }

// Resources asks the kubelet.
func (k *KubeletSocket) Resources(ctx context.Context) (Resources, error) {
	var out Resources
	var answer []byte
	if err := k.connection.Invoke(ctx, methodAllocatable, []byte{}, &answer); err != nil {
		return out, fmt.Errorf("GetAllocatableResources: %w", err)
	}
	var err error
	if out.Allocatable, err = parseAssets(answer, allocatableFields); err != nil {
		return out, fmt.Errorf("GetAllocatableResources: %w", err)
	}
	if err := k.connection.Invoke(ctx, methodList, []byte{}, &answer); err != nil {
		return out, fmt.Errorf("List: %w", err)
	}
	if out.Held, err = parseList(answer); err != nil {
		return out, fmt.Errorf("List: %w", err)
	}
	return out, nil
}

// octets is the codec of messages that are already encoded.
type octets struct{}

var _ encoding.Codec = octets{}

// Name is what the kubelet knows the encoding as.
func (octets) Name() string { return "proto" }

// Marshal takes octets as they are.
func (octets) Marshal(v any) ([]byte, error) {
	b, is := v.([]byte)
	if !is {
		return nil, fmt.Errorf("%T is not encoded", v)
	}
	return b, nil
}

// Unmarshal copies: the octets belong to gRPC.
func (octets) Unmarshal(data []byte, v any) error {
	b, is := v.(*[]byte)
	if !is {
		return fmt.Errorf("%T takes no octets", v)
	}
	*b = append([]byte(nil), data...)
	return nil
}

// field of a message: a number, or the octets of a string, a message or packed numbers.
type field struct {
	number protowire.Number
	kind   protowire.Type
	varint uint64
	octets []byte
}

// eachField calls visit for the fields of a message in their order.
func eachField(message []byte, visit func(field) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		f := field{number: number, kind: kind}
		switch kind {
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			f.octets, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// numbers of a repeated field, packed or not.
func (f field) numbers() ([]int, error) {
	if f.kind == protowire.VarintType {
		return []int{int(f.varint)}, nil
	}
	var out []int
	for rest := f.octets; len(rest) > 0; {
		v, n := protowire.ConsumeVarint(rest)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		out, rest = append(out, int(v)), rest[n:]
	}
	return out, nil
}

// assetFields are the numbers of the fields that two messages have in common.
type assetFields struct{ devices, cpus, memory protowire.Number }

var (
	allocatableFields = assetFields{devices: 1, cpus: 2, memory: 3} // AllocatableResourcesResponse
	containerFields   = assetFields{devices: 2, cpus: 3, memory: 4} // ContainerResources
)

func parseAssets(message []byte, fields assetFields) (Assets, error) {
	var out Assets
	err := eachField(message, func(f field) error {
		switch f.number {
		case fields.devices:
			d, err := parseDevices(f.octets)
			out.Devices = append(out.Devices, d)
			return err
		case fields.cpus:
			cpus, err := f.numbers()
			out.CPUs = append(out.CPUs, cpus...)
			return err
		case fields.memory:
			m, err := parseMemory(f.octets)
			out.Memory = append(out.Memory, m)
			return err
		}
		return nil
	})
	return out, err
}

// parseList reads ListPodResourcesResponse: pod_resources = 1, of which containers = 3.
func parseList(message []byte) ([]Assets, error) {
	var out []Assets
	err := eachField(message, func(pod field) error {
		if pod.number != 1 {
			return nil
		}
		return eachField(pod.octets, func(container field) error {
			if container.number != 3 {
				return nil
			}
			a, err := parseAssets(container.octets, containerFields)
			if len(a.CPUs)+len(a.Devices)+len(a.Memory) > 0 {
				out = append(out, a)
			}
			return err
		})
	})
	return out, err
}

// parseDevices reads ContainerDevices: resource_name = 1, device_ids = 2.
func parseDevices(message []byte) (Devices, error) {
	var out Devices
	err := eachField(message, func(f field) error {
		switch f.number {
		case 1:
			out.Resource = string(f.octets)
		case 2:
			out.IDs = append(out.IDs, string(f.octets))
		}
		return nil
	})
	return out, err
}

// parseMemory reads ContainerMemory: memory_type = 1, size = 2, topology = 3 (nodes = 1 (ID = 1)).
func parseMemory(message []byte) (Memory, error) {
	var out Memory
	err := eachField(message, func(f field) error {
		switch f.number {
		case 1:
			out.Kind = string(f.octets)
		case 2:
			out.Bytes = int64(f.varint)
		case 3:
			return eachField(f.octets, func(node field) error {
				if node.number != 1 {
					return nil
				}
				cell := 0 // which proto3 leaves out
				err := eachField(node.octets, func(id field) error {
					if id.number == 1 {
						cell = int(id.varint)
					}
					return nil
				})
				out.Cells = append(out.Cells, cell)
				return err
			})
		}
		return nil
	})
	return out, err
}
