package worlds

import (
	"fmt"
	"strings"
	"time"
)

// Story is what has happened in a world, as far as it is kept, and what was wrong first.
type Story struct {
	*Clock
	// Lines of the story that are kept.
	Lines []string
	// Most lines of a story are shown; twice as many are kept, and 800 at least.
	Most  int
	Wrong error
	// Ended counts procedures by what they were.
	Ended map[string]int

	steps int // so much has happened
}

// NewStory of a world.
func NewStory(c *Clock) *Story { return &Story{Clock: c, Ended: map[string]int{}} }

// mostSteps is thirty times what happens in a world of the usual sort.
const mostSteps = 1_000_000

// Until that time things happen, or until something is wrong: a world in which ever more happens is.
func (s *Story) Until(end time.Time) {
	for s.Wrong == nil && s.Step(end) {
		if s.steps++; s.steps > mostSteps {
			s.Fail("it finds no end")
		}
	}
}

// Note what happens.
func (s *Story) Note(format string, arguments ...any) {
	s.Lines = append(s.Lines, s.Now.Format("05.000000 ")+fmt.Sprintf(format, arguments...))
	if most := max(s.Most, 400); len(s.Lines) > 2*most {
		s.Lines = append(s.Lines[:0], s.Lines[most:]...)
	}
}

// Fail says what is wrong. What follows from it is not of interest.
func (s *Story) Fail(format string, arguments ...any) {
	if s.Wrong == nil {
		s.Wrong = fmt.Errorf(format, arguments...)
		s.Note("WRONG: %v", s.Wrong)
	}
}

// Tail of the story.
func (s *Story) Tail() string {
	return strings.Join(s.Lines[max(0, len(s.Lines)-s.Most):], "\n")
}
