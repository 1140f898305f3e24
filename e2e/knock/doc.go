// Package knock tries doors: it opens connections as somebody in the cluster would who has no business
// there, or who has, and says what came of each. The suites run it in pods (e2e/cmd/knock).
package knock
