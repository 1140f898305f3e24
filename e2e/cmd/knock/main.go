// Command knock reads a knock.Visit on its standard input, and writes the answers.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"core5g.dev/core5g/e2e/knock"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "knock:", err)
		os.Exit(1)
	}
}

func run() error {
	var visit knock.Visit
	if err := json.NewDecoder(os.Stdin).Decode(&visit); err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	answers, err := knock.Try(context.Background(), visit)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}
