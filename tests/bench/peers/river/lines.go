package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// What a command says: the fields of all of them.
type options struct {
	Do      string `json:"do"`
	Jobs    int64  `json:"jobs"`
	Batch   int64  `json:"batch"`
	Clients int    `json:"clients"`
	LeadMs  int64  `json:"lead_ms"`
	WarmUp  int64  `json:"warm_up"`
	GapMs   int64  `json:"gap_ms"`
	Seconds int64  `json:"seconds"`
	Ahead   int64  `json:"ahead"`
	Count   int64  `json:"count"`
}

type answer map[string]any

var output sync.Mutex

func say(value any) {
	output.Lock()
	defer output.Unlock()
	text, _ := json.Marshal(value)
	fmt.Println(string(text))
}

// JSON lines on stdin are commands by name, each answered by one line on stdout unless its answer
// is nil. Commands run side by side. Ends when stdin ends, or the process when one fails.
func serve(commands map[string]func(options) (answer, error)) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var command options
		if err := json.Unmarshal(lines.Bytes(), &command); err != nil {
			return err
		}
		go func() {
			result, err := commands[command.Do](command)
			if err != nil {
				fmt.Fprintln(os.Stderr, command.Do+":", err)
				os.Exit(1)
			}
			if result != nil {
				say(answer{"answer": result})
			}
		}()
	}
	return lines.Err()
}
