package asking

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"core5g.dev/core5g/operators/specs"
)

const (
	// scrapeTimeout bounds one question to a pod, and maxScrape its answer, octets.
	scrapeTimeout = 2 * time.Second
	maxScrape     = 16 << 20
)

// Scrape asks a pod at its port of metrics, and has the answer read.
func Scrape(ctx context.Context, pod *corev1.Pod, path string, read func(io.Reader) error) error {
	if pod.Status.PodIP == "" {
		return fmt.Errorf("pod %s has no address", pod.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	url := "http://" + net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(specs.PortMetrics)) + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("pod %s does not tell %s: %s", pod.Name, request.URL.Path, answer.Status)
	}
	if err := read(io.LimitReader(answer.Body, maxScrape)); err != nil {
		return fmt.Errorf("%s of pod %s: %w", request.URL.Path, pod.Name, err)
	}
	return nil
}
