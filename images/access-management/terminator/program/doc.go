// Package program is an N2 terminator as it runs in a pod: its command line, its sockets, what others see of it. It knows nothing of Kubernetes.
package program
