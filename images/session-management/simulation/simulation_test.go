package simulation

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"core5g.dev/core5g/images/worlds"
)

var (
	seeds = flag.Int("seeds", 200, "how many worlds")
	first = flag.Uint64("first", 1, "the first seed")
	lines = flag.Int("lines", 120, "how much of the story of a world that went wrong is shown")
)

// failed are seeds that showed a fault once, beside those that every run goes through. The world has changed since some of them were found,
// and what they show now is another one.
var failed = []uint64{
	8,      // the end of a restoration was told without a look at the lease
	123,    // a request that was looked for in the store for long reached the next session of its UE
	212,    // a session was deleted in its unit to be made anew, and what it had was given to another in between
	343,    // numbers were used again, because a holder that died had noted that it would leave them out
	500,    // an access network did not take back a flow whose end the UE had refused
	1045,   // a unit that had no association yet was taken for one that refused
	1109,   // a session whose deletion a unit did not answer stayed there for ten minutes
	1592,   // a flow that an access network lost, and that it was told of anew, counted as there
	1919,   // a Slice had filters again that it had before: the rules that the unit was to be told were none of either
	2112,   // an access network to which a UE went had been told to keep a flow that it had not said that it took
	3955,   // an AMF said for six seconds what a UE had answered to the command before
	4430,   // an access network was told twice, and took a flow the second time
	8205,   // a store heard late what a pod's life before had asked for
	2297,   // what UE and access network had was taken back for want of a flow's filters
	2,      // a usage report that came again, behind the answer to a query, was not counted
	53,     // a session that waited for the CHF to hear of its end stayed in its unit, which had not answered
	175,    // a session that is charged was deleted in its unit to be made anew, and what it had was given to another in between
	83,     // a unit was told its rules again before its report was counted, and with them a quota
	431,    // what a unit said last of a session that it had deleted had a number that the record had no more
	65,     // a new access network sent where the old one had, which was told of another way only after the UE had gone
	312,    // an access network let go of a tunnel that it had said before, and that the SMF heard of afterwards
	2511,   // an AMF said that a UE is idle, heard so late, and took away the tunnel that the UE had got meanwhile
	200168, // a PCF waited without end for an answer of the SMF that was lost
	210161, // an access network let go of a session while its UE came, and was said to have it nonetheless
	211339, // an access network set up a session again that it was about to take down, and that an AMF had not said yet
	211446, // what a unit had measured by a URR, and nobody knew that it had it, was counted by none when its session was deleted
	212207, // a CHF kept a session that it had taken late, and whose name another one had needed
	211860, // what a PCF had notified waited behind a procedure, and undid what it had answered meanwhile
	215700, // what a holder had heard of usage, and died with, was taken for a quota that was given twice
	216150, // an SMF that had refused the end of a tunnel carried it out all the same, and nobody asked again
	215691, // an answer of a UE to a command of before was taken for one to a command that had not reached it
	217885, // an AMF had a session set up for a UE that it was just moving elsewhere
	215166, // a flow that another access network was told of again, after it had not brought it along, was not taken back there
	216581, // a session whose deletion its unit had not heard was looked at while its UE was told, and never again
	218603, // another anchor was given URRs a second time, and their quota with them
	230082, // a unit that had not answered said what it had measured, and got a URR of the same number, whose first report was taken for a repetition
	231453, // a branch was not reached, and the anchor, which had heard, was told to make the same rules once more
	235224, // a command that a holder before had sent was taken for unheard, because it could not be sent again
	238661, // an anchor was left during a handover, and the target sent to it
	239801, // a holder died before it told a target what to let go of, and was not asked for it again
	240566, // rules of a flow that had gone stayed in an anchor that another one was to follow, and did not
	300500, // a session that was just being written was not in its Slice's list when the Slice changed, and never followed
	300911, // likewise, of a session whose holder the store answered late
	302481, // what an access network answered late, to what it was told when the UE came, was taken for an answer to a flow that it had not heard of
	313488, // an AMBR was as it had been before the UE answered that it has another, and was told nobody
	313184, // what a unit that had not answered a deletion said when it was asked again, behind the end of charging, counted as told
	314380, // what a unit had measured of a session that an answer to its report had it give up counted as told
	313585, // an access network to which a UE went without a flow whose end was under way was waited for without end, and had nothing to answer
	318107, // likewise
	312765, // an access network that did not take a flow back said so after it was told of others, and nobody listened
	316450, // likewise, of one that had taken a flow which the UE had refused meanwhile
	318687, // a tunnel set up before a modification was taken for one that was set up with it
	333422, // a unit that was taken away was none that a new holder knew of, and its sessions stayed there
	349582, // a Slice that was as before again while its sessions followed a change was not followed by those that had
	318153, // what a unit had that nobody knew stayed there, where it did not answer its deletion
	349773, // a path switch was asked for twice, and of another way only the second answer told, which nobody heard
	1390,   // a request to deactivate was carried out after a newer one to activate, whose sender had given up on the former
	360102, // that an access network was asked was not known to who took over, found another way, and asked again
	361951, // what a target was told by the way to let go of was lost with an AMF that was not reached, and it kept that
	365666, // what an access network was to be asked for again was taken for answered by what it had said of before, and the AMF had not been reached with it
	358965, // what an access network answered was dropped when it was told of something newer, and with it that it had not taken a flow back
}

// fresh are others, found since there is more in worlds than those had.
var fresh = []uint64{
	371394, // an access network to which a UE went answered what the one before had been asked for, and counted as one that had taken a flow that it did not have
	371788, // likewise
	373341, // a unit that began anew gave what a session had to another, because it heard behind its association that there is something to restore: the world's fault
	380579, // an access network said late that it had taken a flow, while its end, which it was told nothing of, was under way, and kept it
	382566, // that a unit does not come back was heard behind a path switch, when it was back, and what was left there was not deleted
}

const subscribers = 4

// Whatever happens, no session is lost, and when all is quiet everybody thinks the same of each.
func TestWorlds(t *testing.T) {
	var list []uint64
	if *first == 1 {
		list = slices.Concat(failed, fresh)
	}
	if testing.Short() { // with the race detector each takes ten times as long, and there is one thread
		*seeds = min(*seeds, 20)
	}
	for n := range *seeds {
		list = append(list, *first+uint64(n))
	}
	ended := map[string]int{}
	clean, err := worlds.Run(list, made, ended)
	t.Logf("%d of %d worlds were clean: %v", clean, len(list), ended)
	if err != nil {
		t.Fatal(err)
	}
	shows := func(least int, kinds ...string) { worlds.Shows(t, ended, *first, len(list), least, kinds...) }
	shows(20, "establishment", "connection", "release", "paging", "restoration", "modification", "path_switch", "handover", "rerouting", "charging", "policy", anAddressTwice)
	shows(100, aSessionLeftOut, anEthernetSession)
	shows(200, aSilentUE, aBridgesSession, aGNBNotReached) // one in some fifty worlds has it
}

func made(seed uint64) (*world, error) {
	w, err := newWorld(seed, subscribers, !slices.Contains(failed, seed))
	if err == nil {
		w.Most = *lines
	}
	return w, err
}

// What happens is the same for the same seed: a fault is found again.
func TestSameSeedSameWorld(t *testing.T) {
	kinds := map[bool]bool{}
	for seed := uint64(1); len(kinds) < 2; seed++ {
		var stories [2]string
		for n := range stories {
			w, err := worlds.One(seed, made)
			if err != nil {
				t.Fatal(err)
			}
			stories[n] = strings.Join(w.Lines, "\n")
			kinds[w.real] = true
		}
		if stories[0] != stories[1] {
			t.Errorf("seed %d has made two worlds", seed)
		}
	}
}
