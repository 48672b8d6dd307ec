//! The tracker's card on the overview.

use weir_engine::words::counted;
use weir_web::{Card, CardState, CardView, Figure};

use crate::look::Look;
use crate::tally::TallyKind;

impl Card for Look {
    fn view(&self) -> CardView {
        if self.listening().is_empty() {
            return CardView {
                state: CardState::Off,
                sentence: "Both listeners are off. Set tracker.http_listen or tracker.udp_listen and start again.".into(),
                figures: Vec::new(),
                lines: None,
            };
        }
        let totals = self.totals();
        let announces = self.count(TallyKind::UdpAnnounce) + self.count(TallyKind::HttpAnnounce);
        CardView {
            state: CardState::Answering,
            sentence: self.sentence(),
            figures: vec![
                Figure::count("Swarms", totals.swarms.into()),
                Figure::count("Peers", totals.peers().into()),
                Figure::count("Announces", announces),
            ],
            lines: None,
        }
    }
}

impl Look {
    fn sentence(&self) -> String {
        let totals = self.totals();
        let here = match totals.swarms {
            0 => "No swarms yet".to_owned(),
            swarms => format!(
                "{}, {}",
                counted(swarms, "swarm", "swarms"),
                counted(totals.peers(), "peer", "peers")
            ),
        };
        let where_it_answers = answers_on(&self.ports("udp"), &self.ports("http"));
        let mut sentence = format!("{here}; {where_it_answers}.");
        let count = self.forwarders().all().len();
        if count > 0 {
            let trackers = counted(count as u64, "tracker", "trackers");
            sentence += &format!(" Announces go on to {trackers}.");
        }
        sentence
    }
}

fn answers_on(udp: &[u16], http: &[u16]) -> String {
    let list = |ports: &[u16]| {
        let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
        ports.join(", ")
    };
    match (udp, http) {
        (udp, http) if udp == http => format!("answers on UDP and HTTP port {}", list(udp)),
        (udp, []) => format!("answers on UDP port {}", list(udp)),
        ([], http) => format!("answers on HTTP port {}", list(http)),
        (udp, http) => format!(
            "answers on UDP port {} and HTTP port {}",
            list(udp),
            list(http)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::answers_on;

    #[test]
    fn ports_are_named() {
        assert_eq!(
            answers_on(&[6969], &[6969]),
            "answers on UDP and HTTP port 6969"
        );
        assert_eq!(
            answers_on(&[1], &[2]),
            "answers on UDP port 1 and HTTP port 2"
        );
        assert_eq!(answers_on(&[1], &[]), "answers on UDP port 1");
        assert_eq!(answers_on(&[], &[2]), "answers on HTTP port 2");
    }
}
