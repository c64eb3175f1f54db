//! When a certificate begins and ends to hold, and for whom it is: read from its DER, of which that is
//! all that is needed here.

use std::path::{Path, PathBuf};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};

const SEQUENCE: u8 = 0x30;
const EXPLICIT_0: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

#[derive(Debug, thiserror::Error)]
pub enum ValidityError {
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: pem::Error },
    #[error("{} holds no certificate that can be read", path.display())]
    Unreadable { path: PathBuf },
}

/// Of the first certificate of a PEM file, which is the server's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    pub from: jiff::Timestamp,
    pub until: jiff::Timestamp,
}

impl Validity {
    pub fn of(path: &Path) -> Result<Validity, ValidityError> {
        let first = CertificateDer::from_pem_file(path)
            .map_err(|source| ValidityError::Read { path: path.to_owned(), source })?;
        read(&first).ok_or_else(|| ValidityError::Unreadable { path: path.to_owned() })
    }
}

/// Certificate, its first part, and there: version, serial number, algorithm, issuer, validity.
fn read(der: &[u8]) -> Option<Validity> {
    let (_, certificate, _) = element(der)?;
    let (_, mut fields, _) = element(certificate)?;
    let (tag, _, after_version) = element(fields)?;
    if tag == EXPLICIT_0 {
        fields = after_version;
    }
    for _ in 0..3 {
        (_, _, fields) = element(fields)?;
    }
    let (tag, validity, _) = element(fields)?;
    if tag != SEQUENCE {
        return None;
    }
    let (tag, from, rest) = element(validity)?;
    let from = moment(tag, from)?;
    let (tag, until, _) = element(rest)?;
    Some(Validity { from, until: moment(tag, until)? })
}

/// The first element: its tag, what is in it, and what follows.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let count = usize::from(first & 0x7f);
        let (bytes, rest) = rest.split_at_checked(count).filter(|_| count <= 4)?;
        (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`.
fn moment(tag: u8, text: &[u8]) -> Option<jiff::Timestamp> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let number = |text: &str| text.parse::<i16>().ok();
    let (year, rest) = match tag {
        UTC_TIME => {
            let (year, rest) = text.split_at_checked(2)?;
            let year = number(year)?;
            // Two digits stand for 1950 to 2049.
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = text.split_at_checked(4)?;
            (number(year)?, rest)
        }
        _ => return None,
    };
    let part = |index: usize| rest.get(2 * index..2 * index + 2)?.parse::<i8>().ok();
    let (month, day, hour, minute, second) = (part(0)?, part(1)?, part(2)?, part(3)?, part(4)?);
    let at = DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
    at.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dates_of_a_certificate_are_read() {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        parameters.not_before = rcgen::date_time_ymd(2024, 3, 1);
        parameters.not_after = rcgen::date_time_ymd(2061, 7, 31);
        let certificate = parameters.self_signed(&key).unwrap();
        let validity = read(certificate.der()).unwrap();
        assert_eq!(validity.from.to_string(), "2024-03-01T00:00:00Z");
        assert_eq!(validity.until.to_string(), "2061-07-31T00:00:00Z");
    }

    #[test]
    fn what_is_no_certificate_is_none() {
        for bytes in
            [&b""[..], b"0", &[0x30, 0x80], &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff], &[0x30; 64]]
        {
            assert_eq!(read(bytes), None);
        }
    }
}
