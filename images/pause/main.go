// Pause holds a pod's namespaces: it waits for the signal to end, and collects the children that
// outlive their parents in a pod with a shared process namespace.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	child := make(chan os.Signal, 1)
	signal.Notify(child, syscall.SIGCHLD)
	for {
		select {
		case <-end:
			return
		case <-child:
			for {
				pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
				if err == syscall.EINTR {
					continue
				}
				if err != nil || pid <= 0 {
					break
				}
			}
		}
	}
}
