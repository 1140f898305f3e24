package nodeagent

import (
	"context"
	"encoding/base64"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// encoded is an answer of testdata, as Kubernetes' own code has encoded it.
func encoded(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".base64"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// serve is a kubelet that answers each method with octets, or an error where it has none.
func serve(t *testing.T, answers map[string][]byte) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kubelet") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "kubelet.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	method := func(full string) grpc.MethodDesc {
		return grpc.MethodDesc{
			MethodName: full[strings.LastIndex(full, "/")+1:],
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				var request []byte
				if err := decode(&request); err != nil {
					return nil, err
				}
				if answer, found := answers[full]; found {
					return answer, nil
				}
				return nil, status.Error(codes.Unavailable, "not now")
			},
		}
	}
	server := grpc.NewServer(grpc.ForceServerCodec(octets{}))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "v1.PodResourcesLister", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{method(methodList), method(methodAllocatable)},
	}, struct{}{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return socket
}

func TestResourcesOfAKubelet(t *testing.T) {
	allocatable, list := encoded(t, "allocatable"), encoded(t, "list")
	for name, c := range map[string]struct {
		answers   map[string][]byte
		want      Resources
		wantError string
	}{
		"what it has and has given": {
			answers: map[string][]byte{methodAllocatable: allocatable, methodList: list},
			want: Resources{
				Allocatable: Assets{
					CPUs: []int{2, 3, 4, 5, 200},
					Devices: []Devices{
						{Resource: "core5g.dev/n3_socket0", IDs: []string{"0000:3b:02.0", "0000:3b:02.1"}},
						{Resource: "core5g.dev/n3_socket1", IDs: []string{"0000:af:02.0"}},
					},
					Memory: []Memory{
						{Kind: "memory", Bytes: 64 << 30, Cells: []int{0}},
						{Kind: "hugepages-2Mi", Bytes: 1 << 30, Cells: []int{0}},
						{Kind: "hugepages-2Mi", Bytes: 512 << 20, Cells: []int{1}},
					},
				},
				Held: []Assets{{
					CPUs:    []int{2, 3},
					Devices: []Devices{{Resource: "core5g.dev/n3_socket0", IDs: []string{"0000:3b:02.1"}}},
					Memory:  []Memory{{Kind: "hugepages-2Mi", Bytes: 512 << 20, Cells: []int{0, 1}}},
				}},
			},
		},
		"nothing":               {answers: map[string][]byte{methodAllocatable: {}, methodList: {}}},
		"one call is refused":   {answers: map[string][]byte{methodAllocatable: allocatable}, wantError: "List: "},
		"an answer that breaks": {answers: map[string][]byte{methodAllocatable: allocatable[:40], methodList: list}, wantError: "GetAllocatableResources: "},
	} {
		t.Run(name, func(t *testing.T) {
			kubelet, err := DialKubelet(serve(t, c.answers))
			if err != nil {
				t.Fatal(err)
			}
			defer kubelet.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			got, err := kubelet.Resources(ctx)
			if c.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantError) {
					t.Fatalf("error %v, want one with %q", err, c.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAKubeletThatIsNotThere(t *testing.T) {
	kubelet, err := DialKubelet(filepath.Join(t.TempDir(), "none.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer kubelet.Close()
	if _, err := kubelet.Resources(t.Context()); err == nil || !strings.Contains(err.Error(), "none.sock") {
		t.Errorf("error %v, want one that names the socket", err)
	}
}

// What a kubelet sends is never trusted: no octets make the parser panic.
func FuzzPodResources(f *testing.F) {
	f.Add(encoded(f, "list"))
	f.Add(encoded(f, "allocatable"))
	f.Fuzz(func(_ *testing.T, message []byte) {
		held, err := parseList(message)
		if err != nil {
			held = nil
		}
		assets, err := parseAssets(message, allocatableFields)
		if err != nil {
			assets = Assets{}
		}
		Status(Observation{Resources: Resources{Allocatable: assets, Held: held}}, nil, time.Unix(0, 0))
	})
}
